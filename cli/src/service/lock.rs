//! The lock of a data directory.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;

/// The right to run a service in a data directory. It ends with the process, even after a crash.
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Locks the directory. Fails if another process holds the lock.
    pub(crate) fn take(home: &Path) -> anyhow::Result<Self> {
        let taken = Self::take_if_free(home)?;
        taken.with_context(|| {
            format!(
                "another skillet runs in {}; stop it, or name another --data-dir",
                home.display()
            )
        })
    }

    /// Locks the directory. Returns `None` if another process holds the lock.
    pub(crate) fn take_if_free(home: &Path) -> anyhow::Result<Option<Self>> {
        let path = home.join("lock");
        let file = File::options()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        }
    }
}
