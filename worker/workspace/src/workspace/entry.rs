//! Creation and removal of entries in a workspace. Paths start at its root, and links are not followed.

use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, ResolveFlags, Uid, chmodat, chownat, mkdirat, openat2, symlinkat,
    unlinkat,
};

use super::{BENEATH, Workspace};

impl Workspace {
    /// Creates a new file that the job's user owns.
    pub fn create_file(&self, path: &str, mode: u32) -> io::Result<File> {
        let (parent, name) = self.parent(path)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file: File = openat2(&parent, name, flags, Mode::RUSR | Mode::WUSR, BENEATH)?.into();
        file.set_permissions(Permissions::from_mode(mode))?;
        self.give(&parent, name)?;
        Ok(file)
    }

    /// Creates a new directory that the job's user owns.
    pub fn create_directory(&self, path: &str, mode: u32) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        mkdirat(&parent, name, Mode::RWXU)?;
        // The mode must not depend on the process's umask.
        chmodat(&parent, name, Mode::from_raw_mode(mode), AtFlags::empty())?;
        self.give(&parent, name)
    }

    /// Creates a new link with any target.
    pub(super) fn create_link(&self, path: &str, target: &str) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        symlinkat(target, &parent, name)?;
        self.give(&parent, name)
    }

    /// Changes the mode of a directory.
    pub(super) fn set_directory_mode(&self, path: &str, mode: u32) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve = BENEATH.union(ResolveFlags::NO_SYMLINKS);
        let directory: File =
            openat2(self.directory()?, path, flags, Mode::empty(), resolve)?.into();
        directory.set_permissions(Permissions::from_mode(mode))
    }

    /// Removes an empty directory.
    pub(super) fn remove_directory(&self, path: &str) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(unlinkat(&parent, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes a file.
    pub fn remove_file(&self, path: &str) -> io::Result<()> {
        let (parent, name) = self.parent(path)?;
        Ok(unlinkat(&parent, name, AtFlags::empty())?)
    }

    /// Returns the parent directory of a path, and the last name of the path.
    fn parent<'a>(&self, path: &'a str) -> io::Result<(OwnedFd, &'a OsStr)> {
        let path = Path::new(path);
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let resolve = BENEATH.union(ResolveFlags::NO_SYMLINKS);
        let parent = openat2(self.directory()?, parent, flags, Mode::empty(), resolve)?;
        Ok((parent, name))
    }

    /// Makes the job's user the owner of an entry.
    pub(super) fn give(&self, parent: impl AsFd, name: &OsStr) -> io::Result<()> {
        let Some(id) = self.directory.user() else {
            return Ok(());
        };
        let (user, group) = (Uid::from_raw(id), Gid::from_raw(id));
        Ok(chownat(
            parent,
            name,
            Some(user),
            Some(group),
            AtFlags::SYMLINK_NOFOLLOW,
        )?)
    }
}
