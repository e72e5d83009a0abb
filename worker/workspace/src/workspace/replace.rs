//! Atomic writes of files that a model named.

use std::fs::{File, Permissions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, chmodat, mkdirat, openat2, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::access::AccessError;
use super::{BENEATH, Workspace};

/// The permissions of new files and directories.
const NEW_FILE: u32 = 0o644;
const NEW_DIRECTORY: Mode = Mode::RWXU
    .union(Mode::RGRP)
    .union(Mode::XGRP)
    .union(Mode::ROTH)
    .union(Mode::XOTH);

/// The result of writing a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The file did not exist.
    Created,
    /// The file existed, and its mode is kept.
    Overwritten,
}

impl Workspace {
    /// Writes a file at the path that the model named, and creates missing parent directories. The content is written
    /// to a temporary file that is then renamed. Nobody sees a partial file, and processes that have the old file open
    /// keep it.
    pub fn replace_file(&self, named: &str, content: &[u8]) -> Result<Replaced, AccessError> {
        let path = self.relative(named);
        let name = match path.components().next_back() {
            Some(Component::Normal(name)) => name,
            None => return Err(AccessError::Missing),
            Some(_) => return Err(AccessError::Directory),
        };
        if named.trim_end().ends_with('/') {
            return Err(AccessError::Directory);
        }
        let parent = self.make_directories(path.parent().unwrap_or(Path::new("")))?;
        let (mode, replaced) = match statat(&parent, name, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => (NEW_FILE, Replaced::Created),
            Err(error) => return Err(error.into()),
            Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => (stat.st_mode & 0o777, Replaced::Overwritten),
                FileType::Directory => return Err(AccessError::Directory),
                FileType::Symlink => return Err(AccessError::Link),
                _ => return Err(AccessError::NotAFile),
            },
        };
        let beside = format!(".{:016x}.new", rand::random::<u64>());
        let renamed = self
            .write_new(&parent, &beside, content, mode)
            .and_then(|()| Ok(renameat(&parent, &beside, &parent, name)?));
        if let Err(error) = renamed {
            // The temporary file may not exist.
            let _ = unlinkat(&parent, &beside, AtFlags::empty());
            return Err(error);
        }
        Ok(replaced)
    }

    fn write_new(
        &self,
        parent: impl AsFd,
        name: &str,
        content: &[u8],
        mode: u32,
    ) -> Result<(), AccessError> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file: File =
            openat2(&parent, name, flags, Mode::RUSR | Mode::WUSR, BENEATH)?.into();
        file.write_all(content)?;
        file.set_permissions(Permissions::from_mode(mode))?;
        Ok(self.give(&parent, name.as_ref())?)
    }

    /// Opens a directory, and creates it and its parents if they are missing. Each level is looked up from the root
    /// again, so that links inside the workspace are followed and none leads out.
    fn make_directories(&self, path: &Path) -> Result<OwnedFd, AccessError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = self.directory()?;
        let open = |path: &Path| openat2(root, path, flags, Mode::empty(), BENEATH);
        let mut reached = PathBuf::from(".");
        let mut directory = open(&reached)?;
        for component in path.components() {
            reached.push(component);
            directory = match open(&reached) {
                Err(Errno::NOENT) => {
                    self.make_directory(&directory, component)?;
                    open(&reached)?
                }
                opened => opened?,
            };
        }
        Ok(directory)
    }

    fn make_directory(&self, parent: impl AsFd, component: Component) -> Result<(), AccessError> {
        let name = component.as_os_str();
        match mkdirat(&parent, name, Mode::RWXU) {
            Ok(()) => {}
            // A link whose target does not exist. Opening it reports the error.
            Err(Errno::EXIST) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        // The mode must not depend on the process's umask.
        chmodat(&parent, name, NEW_DIRECTORY, AtFlags::empty())?;
        Ok(self.give(&parent, name)?)
    }
}
