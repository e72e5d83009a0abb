//! Measurement of a directory tree of any depth and with any modes, while other processes change it.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, chmod, fstat, openat, statat};

/// The usage of a tree.
#[derive(Default)]
pub(super) struct TreeUse {
    /// Bytes on the disk.
    pub(super) bytes: u64,
    /// Files, directories and all other entries.
    pub(super) entries: u64,
}

/// A directory on the current path.
struct Level {
    /// The name in the level above.
    name: CString,
    id: (u64, u64),
    /// The directories in it that are still to be visited.
    pending: Vec<CString>,
}

impl Level {
    fn of(directory: &OwnedFd, name: CString, sum: &mut TreeUse) -> io::Result<Self> {
        Ok(Self {
            name,
            id: id(directory)?,
            pending: read(directory, sum)?,
        })
    }
}

/// Measures a tree, and stops when it has more than `max_entries`. Only one directory is open at a time, and `..`
/// leads back up. If a process moved the directory, `..` leads elsewhere. The path is then followed again from the
/// root.
pub(super) fn measure(root: &OwnedFd, max_entries: u64, sum: &mut TreeUse) -> io::Result<()> {
    let mut here = open(root, c".")?;
    let mut levels = vec![Level::of(&here, c".".to_owned(), sum)?];
    while let Some(level) = levels.last_mut() {
        if sum.entries > max_entries {
            return Ok(());
        }
        if let Some(name) = level.pending.pop() {
            // The directory may be gone.
            let Ok(inner) = open(&here, &name) else {
                continue;
            };
            if let Ok(level) = Level::of(&inner, name, sum) {
                levels.push(level);
                here = inner;
            }
        } else {
            levels.pop();
            here = climb(root, &here, &mut levels)?;
        }
    }
    Ok(())
}

/// Opens the last level, or the deepest level that is still in its place.
fn climb(root: &OwnedFd, here: &OwnedFd, levels: &mut Vec<Level>) -> io::Result<OwnedFd> {
    let is = |directory: &OwnedFd, level: &Level| id(directory).is_ok_and(|id| id == level.id);
    if let (Ok(above), Some(level)) = (open(here, c".."), levels.last())
        && is(&above, level)
    {
        return Ok(above);
    }
    let mut here = open(root, c".")?;
    let mut in_place = 1;
    for level in levels.iter().skip(1) {
        match open(&here, &level.name) {
            Ok(next) if is(&next, level) => here = next,
            _ => break,
        }
        in_place += 1;
    }
    levels.truncate(in_place);
    Ok(here)
}

fn id(directory: &OwnedFd) -> io::Result<(u64, u64)> {
    let stat = fstat(directory)?;
    Ok((stat.st_dev, stat.st_ino))
}

fn open(parent: &OwnedFd, name: &CStr) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let open = |parent: &OwnedFd, name, how| openat(parent, name, flags | how, Mode::empty());
    match open(parent, name, OFlags::RDONLY) {
        // The command may still be able to write to the directory. Its name may be that of a link by now.
        Err(rustix::io::Errno::ACCESS) => {
            let seen = open(parent, name, OFlags::PATH)?;
            let mode = Mode::from_raw_mode(fstat(&seen)?.st_mode);
            let path = format!("/proc/self/fd/{}", seen.as_raw_fd());
            chmod(&path, Mode::RWXU)?;
            let opened = open(&seen, c".", OFlags::RDONLY);
            // The command must not notice the change.
            chmod(&path, mode)?;
            Ok(opened?)
        }
        opened => Ok(opened?),
    }
}

/// Adds the entries of a directory, and returns those that are directories.
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    fn measured(root: &Path) -> TreeUse {
        let mut sum = TreeUse::default();
        let root = fs::File::open(root).unwrap().into();
        measure(&root, u64::MAX, &mut sum).unwrap();
        sum
    }

    #[test]
    fn every_level_counts_also_those_that_are_closed() {
        let root = tempfile::tempdir().unwrap();
        let mut path = root.path().to_owned();
        for _ in 0..40 {
            path.push("level");
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), [1; 5000]).unwrap();
            std::os::unix::fs::symlink("/usr", path.join("link")).unwrap();
        }
        let closed = root.path().join("level/level");
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        let sum = measured(root.path());
        assert_eq!(sum.entries, 3 * 40);
        assert!(sum.bytes >= 40 * 5000, "{}", sum.bytes);
    }

    #[test]
    fn a_tree_that_is_moved_about_is_measured_whole_and_never_left() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("a/root");
        // If the measurement left the root, it would count these names, because the root has an `x` as well.
        for number in 0..200 {
            fs::create_dir_all(home.path().join(format!("a/x/{number}"))).unwrap();
        }
        fs::create_dir_all(root.join("z/y/x/w")).unwrap();
        for name in ["a", "b", "c"] {
            fs::create_dir_all(root.join(name).join("deep/er")).unwrap();
            fs::write(root.join(name).join("deep/er/file"), "x").unwrap();
        }
        let moved = root.clone();
        let end = Instant::now() + Duration::from_secs(1);
        let mover = thread::spawn(move || {
            while Instant::now() < end {
                fs::rename(moved.join("z/y/x"), moved.join("x")).unwrap();
                fs::create_dir_all(moved.join("gone/soon")).unwrap();
                fs::rename(moved.join("x"), moved.join("z/y/x")).unwrap();
                fs::remove_dir_all(moved.join("gone")).unwrap();
            }
        });
        while !mover.is_finished() {
            let sum = measured(&root);
            // 12 entries that stay (3 × 4), then z, y, x and w (x and w may be counted twice), then gone and soon.
            assert!((14..=20).contains(&sum.entries), "{} entries", sum.entries);
        }
        mover.join().unwrap();
    }
}
