//! Access to files and directories that a model named. Links are followed inside the workspace, but not out of it.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat2, readlinkat, statat};
use rustix::io::Errno;
use shared::event::AssetRejection;

use super::{BENEATH, Workspace};

/// The maximum number of entries of a directory that are read.
const MAX_ENTRIES: usize = 50_000;

/// The reason why a path of the workspace cannot be used. The message is worded to follow the path.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// There is no file of that path.
    #[error("does not exist")]
    Missing,
    /// The path leads out of the workspace.
    #[error("is not in the workspace, or a link in its path leads out of it")]
    Outside,
    /// The path is a directory.
    #[error("is a directory")]
    Directory,
    /// A part of the path is not a directory.
    #[error("is not a directory, or a part of its path is not")]
    NotADirectory,
    /// The path is a symbolic link.
    #[error("is a link: use the path of the file that it points to")]
    Link,
    /// The path is a device, a pipe or a socket.
    #[error("is not a regular file, but a device, a pipe or a socket")]
    NotAFile,
    /// The file has other names.
    #[error("has other names (hard links): copy it first, and use the copy")]
    HardLink,
    /// The permissions forbid the access.
    #[error("cannot be accessed: its mode, or that of a directory in its path, forbids it")]
    Forbidden,
    /// Another error of the file system.
    #[error("cannot be used: {0}")]
    Io(#[source] io::Error),
}

impl From<io::Error> for AccessError {
    fn from(error: io::Error) -> Self {
        match Errno::from_io_error(&error) {
            Some(Errno::NOENT) => Self::Missing,
            Some(Errno::XDEV | Errno::LOOP) => Self::Outside,
            Some(Errno::ISDIR) => Self::Directory,
            Some(Errno::NOTDIR) => Self::NotADirectory,
            Some(Errno::ACCESS | Errno::PERM) => Self::Forbidden,
            _ => Self::Io(error),
        }
    }
}

impl From<Errno> for AccessError {
    fn from(error: Errno) -> Self {
        io::Error::from(error).into()
    }
}

impl From<AccessError> for AssetRejection {
    fn from(error: AccessError) -> Self {
        match error {
            AccessError::Outside => Self::Outside,
            AccessError::Directory
            | AccessError::Link
            | AccessError::NotAFile
            | AccessError::HardLink => Self::NotAFile,
            AccessError::Missing
            | AccessError::NotADirectory
            | AccessError::Forbidden
            | AccessError::Io(_) => Self::Missing,
        }
    }
}

/// An entry of a directory.
pub struct Entry {
    pub name: String,
    pub kind: EntryKind,
}

/// The kind of an entry.
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A link with its target.
    Link(String),
    /// A file or anything else.
    Other,
}

impl Workspace {
    /// Opens a regular file that the model named, for reading. Returns the size of the open file with it.
    pub fn open_file(&self, named: &str) -> Result<(File, u64), AccessError> {
        let relative = self.relative(named);
        // `PATH` opens neither a pipe nor a device.
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let seen: File =
            openat2(self.directory()?, &relative, flags, Mode::empty(), BENEATH)?.into();
        check_plain(&seen.metadata()?)?;
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file: File =
            openat2(self.directory()?, &relative, flags, Mode::empty(), BENEATH)?.into();
        let metadata = file.metadata()?;
        check_plain(&metadata)?;
        Ok((file, metadata.len()))
    }

    /// Returns the entries of a directory that the model named, in no particular order.
    pub fn read_directory(&self, named: &str) -> Result<Vec<Entry>, AccessError> {
        let directory = self.open_directory_of(named)?;
        let mut entries = Vec::new();
        for entry in Dir::read_from(&directory)? {
            let entry = entry?;
            let raw = entry.file_name();
            let name = raw.to_string_lossy().into_owned();
            if [".", ".."].contains(&name.as_str()) {
                continue;
            }
            if entries.len() == MAX_ENTRIES {
                break;
            }
            // The entry may be gone by now.
            let Ok(stat) = statat(&directory, raw, AtFlags::SYMLINK_NOFOLLOW) else {
                continue;
            };
            let kind = match FileType::from_raw_mode(stat.st_mode) {
                FileType::Directory => EntryKind::Directory,
                FileType::Symlink => {
                    let target = readlinkat(&directory, raw, Vec::new()).unwrap_or_default();
                    EntryKind::Link(target.to_string_lossy().into_owned())
                }
                _ => EntryKind::Other,
            };
            entries.push(Entry { name, kind });
        }
        Ok(entries)
    }

    /// Checks that the model named a directory, and returns its path from the root of the workspace.
    pub fn directory_at(&self, named: &str) -> Result<String, AccessError> {
        self.open_directory_of(named)?;
        let relative = self.relative(named);
        Ok(relative.to_string_lossy().into_owned())
    }

    fn open_directory_of(&self, named: &str) -> Result<File, AccessError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let relative = self.relative(named);
        let relative = if relative.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &relative
        };
        Ok(openat2(self.directory()?, relative, flags, Mode::empty(), BENEATH)?.into())
    }
}

fn check_plain(metadata: &Metadata) -> Result<(), AccessError> {
    if metadata.is_dir() {
        Err(AccessError::Directory)
    } else if !metadata.is_file() {
        Err(AccessError::NotAFile)
    } else if metadata.nlink() != 1 {
        Err(AccessError::HardLink)
    } else {
        Ok(())
    }
}
