//! How large a tree is, whatever its depth and its modes, while someone changes it.

use std::ffi::CString;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, chmodat, openat, statat};

/// What a tree takes.
#[derive(Default)]
pub(super) struct TreeUse {
    /// On the disk.
    pub(super) bytes: u64,
    /// Files, directories and all else.
    pub(super) entries: u64,
}

/// Adds up a tree, or as much of it as has `max_entries`. One directory is open at a time; the way back up is
/// its `..`, which may lead elsewhere in a tree that is being moved about, but not out of what the command has.
pub(super) fn measure(root: &OwnedFd, max_entries: u64, sum: &mut TreeUse) -> io::Result<()> {
    let mut here = open(root, c".")?;
    // The directories that are still to be visited, level by level.
    let mut levels = vec![read(&here, sum)?];
    while let Some(level) = levels.last_mut() {
        if sum.entries > max_entries {
            return Ok(());
        }
        if let Some(name) = level.pop() {
            if let Ok(inner) = open(&here, &name) {
                here = inner;
                levels.push(read(&here, sum)?);
            }
        } else {
            levels.pop();
            here = open(&here, c"..")?;
        }
    }
    Ok(())
}

fn open(parent: &OwnedFd, name: &std::ffi::CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(parent, name, flags, Mode::empty()) {
        // It may be written to all the same.
        Err(rustix::io::Errno::ACCESS) => {
            chmodat(parent, name, Mode::RWXU, AtFlags::empty())?;
            Ok(openat(parent, name, flags, Mode::empty())?)
        }
        opened => Ok(opened?),
    }
}

/// Adds up a directory's entries, and returns those that are directories.
fn read(directory: &OwnedFd, sum: &mut TreeUse) -> io::Result<Vec<CString>> {
    const BLOCK_BYTES: u64 = 512;
    let mut inner = Vec::new();
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        sum.entries += 1;
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        sum.bytes += stat.st_blocks.unsigned_abs() * BLOCK_BYTES;
        if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            inner.push(name.to_owned());
        }
    }
    Ok(inner)
}
