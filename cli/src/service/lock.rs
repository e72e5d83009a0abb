use std::fs::{File, TryLockError};
use std::path::Path;

use anyhow::{Context, bail};

/// The right to run a service in a data directory. Ends with the process, however that ends.
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the directory, unless another process has it.
    pub(crate) fn take(home: &Path) -> anyhow::Result<Self> {
        let path = home.join("lock");
        let file = File::options().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => Ok(Self { _file: file }),
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "another skillet runs in {}; stop it, or name another --data-dir",
                    home.display()
                )
            }
            Err(TryLockError::Error(error)) => {
                Err(error).with_context(|| format!("cannot lock {}", path.display()))
            }
        }
    }
}
