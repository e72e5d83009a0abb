//! The lock of a data directory.

use std::fs::{File, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;

/// The right to run a service in a data directory. Ends with the process, however that ends.
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the directory, or says that another process has it.
    pub(crate) fn take(home: &Path) -> anyhow::Result<Self> {
        let taken = Self::take_if_free(home)?;
        taken.with_context(|| {
            format!(
                "another skillet runs in {}; stop it, or name another --data-dir",
                home.display()
            )
        })
    }

    /// Takes the directory; `None` if another process has it.
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
