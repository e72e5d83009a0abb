//! The folder of a worker process for workspaces, next to those of other processes with the same data directory.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use worker_sandbox::{SandboxLimits, remove_tree};

/// The disk space that one job can fill. With less free space, a worker takes no more jobs.
const MIN_FREE_BYTES: u64 = SandboxLimits::DEFAULT.disk_bytes;

/// A folder of this process alone. The next process removes the folders of killed processes, whose locks the kernel
/// released.
pub struct WorkspaceRoot {
    folder: PathBuf,
    lock: PathBuf,
    _held: File,
}

impl WorkspaceRoot {
    /// Creates a folder in `all`, after it removes those of processes that have ended.
    pub fn claim(all: &Path) -> io::Result<Self> {
        fs::create_dir_all(all)?;
        close(all)?;
        // One process at a time, because a lock file that is not locked yet must not look abandoned.
        let turn = open(&all.join("turn"))?;
        turn.lock()?;
        for entry in fs::read_dir(all)? {
            let lock = entry?.path();
            if lock
                .extension()
                .is_some_and(|extension| extension == "lock")
            {
                remove_abandoned(&lock);
            }
        }
        let folder = all.join(Uuid::now_v7().to_string());
        let lock = folder.with_extension("lock");
        let held = open(&lock)?;
        held.lock()?;
        fs::create_dir(&folder)?;
        close(&folder)?;
        Ok(Self {
            folder,
            lock,
            _held: held,
        })
    }

    /// Whether the disk has room for another job.
    pub fn has_room(&self) -> bool {
        // If the free space is not known, the worker continues.
        rustix::fs::statvfs(&self.folder)
            .map_or(true, |disk| disk.f_bavail * disk.f_frsize >= MIN_FREE_BYTES)
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.folder
    }
}

impl Drop for WorkspaceRoot {
    fn drop(&mut self) {
        remove(&self.folder, &self.lock);
    }
}

/// Denies access to other users, whatever the process's umask. If the worker is root, commands run as other users, who
/// must be able to pass through to their own directories.
fn close(directory: &Path) -> io::Result<()> {
    let mode = if rustix::process::geteuid().is_root() {
        0o711
    } else {
        0o700
    };
    fs::set_permissions(directory, Permissions::from_mode(mode))
}

fn open(path: &Path) -> io::Result<File> {
    File::options()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(path)
}

fn remove_abandoned(lock: &Path) {
    if open(lock).is_ok_and(|file| file.try_lock().is_ok()) {
        remove(&lock.with_extension(""), lock);
    }
}

fn remove(folder: &Path, lock: &Path) {
    let removed = match remove_tree(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::remove_file(lock),
    };
    if let Err(error) = removed {
        tracing::warn!(path = %folder.display(), %error, "workspaces could not be removed");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_killed_process_left_is_removed_and_what_a_living_one_has_is_not() {
        let home = tempfile::tempdir().unwrap();
        let living = WorkspaceRoot::claim(home.path()).unwrap();
        fs::write(living.path().join("work"), "x").unwrap();
        let left = home.path().join("left");
        fs::create_dir_all(left.join("job")).unwrap();
        fs::write(left.with_extension("lock"), "").unwrap();

        let next = WorkspaceRoot::claim(home.path()).unwrap();
        assert!(!left.exists() && !left.with_extension("lock").exists());
        assert!(living.path().join("work").exists());
        let folder = next.path().to_owned();
        drop(next);
        assert!(!folder.exists());
    }
}
