//! Removal of a directory tree of any depth and size and with any permissions.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, chmodat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// Removes a directory and everything in it. No process of the user that created it may still run.
///
/// Directories are emptied into the top directory: files are removed, directories move up. So only two directories are
/// open at any time and no path has more than one name, whatever the depth.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let top = match open(CWD, &c_string(path)?) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened?,
    };
    let mut moved: u64 = 0;
    loop {
        let names = names(&top)?;
        if names.is_empty() {
            break;
        }
        for name in names {
            if !remove_file(&top, &name)? {
                let directory = open(&top, &name)?;
                empty_into(&top, &directory, &mut moved)?;
                unlinkat(&top, &name, AtFlags::REMOVEDIR)?;
            }
        }
    }
    Ok(unlinkat(CWD, path, AtFlags::REMOVEDIR)?)
}

fn empty_into(top: &OwnedFd, directory: &OwnedFd, moved: &mut u64) -> io::Result<()> {
    loop {
        let names = names(directory)?;
        if names.is_empty() {
            return Ok(());
        }
        for name in names {
            if !remove_file(directory, &name)? {
                // Moving a directory changes its `..`, which needs write permission. `open` grants it.
                drop(open(directory, &name)?);
                move_up(top, directory, &name, moved)?;
            }
        }
    }
}

/// Moves a directory to the top, under a name that is free there or that of an empty directory.
fn move_up(top: &OwnedFd, from: &OwnedFd, name: &CStr, moved: &mut u64) -> io::Result<()> {
    loop {
        *moved += 1;
        match renameat(from, name, top, format!("moved-{moved}")) {
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
            renamed => return Ok(renamed?),
        }
    }
}

/// Removes an entry that is not a directory. Returns `false` for a directory.
fn remove_file(directory: &OwnedFd, name: &CStr) -> io::Result<bool> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Err(Errno::ISDIR | Errno::PERM) => Ok(false),
        removed => {
            removed?;
            Ok(true)
        }
    }
}

/// Opens a directory to empty it, and gives its owner the permission to do so.
fn open(parent: impl AsFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = openat(&parent, name, flags, Mode::empty());
    if rustix::process::geteuid().is_root() {
        return Ok(opened?);
    }
    if matches!(opened, Ok(_) | Err(Errno::ACCESS)) {
        chmodat(&parent, name, Mode::RWXU, AtFlags::empty())?;
    }
    Ok(openat(&parent, name, flags, Mode::empty())?)
}

/// Returns the names in a directory, at most one batch.
fn names(directory: &OwnedFd) -> io::Result<Vec<CString>> {
    /// The size of a batch. The caller asks again for more.
    const AT_ONCE: usize = 10_000;
    let mut names = Vec::new();
    for entry in Dir::read_from(directory)? {
        let name = entry?.file_name().to_owned();
        if name.as_c_str() != c"." && name.as_c_str() != c".." {
            names.push(name);
        }
        if names.len() == AT_ONCE {
            break;
        }
    }
    Ok(names)
}

fn c_string(path: &Path) -> io::Result<CString> {
    Ok(CString::new(std::os::unix::ffi::OsStrExt::as_bytes(
        path.as_os_str(),
    ))?)
}
