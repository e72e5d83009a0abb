//! The directory of a cluster, and the paths in it.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::error::PostgresError;

/// The maximum size of the end of the log that an error quotes.
const TAIL_BYTES: u64 = 2048;

/// A locked directory. The lock is held until this is dropped or the process ends.
pub(super) struct Directory {
    path: PathBuf,
    lock: File,
}

impl Directory {
    /// Creates the directory if it is missing, and locks it.
    ///
    /// If this process is root, the server's user owns only the cluster and the socket directory, so it cannot change
    /// what root opens, renames and truncates.
    pub(super) fn claim(path: &Path) -> Result<Self, PostgresError> {
        let path = create(path).map_err(PostgresError::io("create", path))?;

        let lock_path = path.join("lock");
        let mut lock = open_private(OpenOptions::new().read(true).write(true), &lock_path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut pid = String::new();
                // The holder may not have written its pid yet.
                let _ = lock.read_to_string(&mut pid);
                return Err(PostgresError::AlreadyManaged {
                    directory: path,
                    pid: pid.trim().parse().ok(),
                });
            }
            Err(TryLockError::Error(error)) => {
                return Err(PostgresError::io("lock", &lock_path)(error));
            }
        }
        lock.set_len(0)
            .and_then(|()| writeln!(lock, "{}", std::process::id()))
            .map_err(PostgresError::io("write", &lock_path))?;
        Ok(Self { path, lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The data directory of Postgres.
    pub(super) fn cluster(&self) -> PathBuf {
        self.path.join("data")
    }

    /// The draft directory in which this process creates a new cluster. Each process has its own, because an `initdb`
    /// that outlived its Skillet process may still write to the previous one.
    pub(super) fn draft(&self) -> PathBuf {
        self.path
            .join(format!("{DRAFT_PREFIX}{}", std::process::id()))
    }

    /// Removes the drafts of interrupted creations.
    pub(super) fn remove_drafts(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry
                .file_name()
                .to_string_lossy()
                .starts_with(DRAFT_PREFIX)
            {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }

    /// Opens the log and empties it, which limits its size.
    pub(super) fn new_log(&self) -> Result<File, PostgresError> {
        let path = self.log_path();
        let log = open_private(OpenOptions::new().append(true), &path)?;
        log.set_len(0).map_err(PostgresError::io("empty", &path))?;
        Ok(log)
    }

    /// The last lines of the log, for an error.
    pub(super) fn log_tail(&self) -> String {
        let path = self.log_path();
        match tail(&path) {
            Ok(text) if text.is_empty() => format!("{} is empty", path.display()),
            Ok(text) => format!("{} ends with\n{text}", path.display()),
            Err(error) => format!("{} cannot be read: {error}", path.display()),
        }
    }

    fn log_path(&self) -> PathBuf {
        self.path.join("postgres.log")
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // Closing the file is not enough: a child that is being started keeps the same file open until it executes its
        // program.
        let _ = self.lock.unlock();
    }
}

const DRAFT_PREFIX: &str = "data.new.";

/// Creates a directory and its missing parents, and returns its full path.
pub(super) fn create(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    crate::directory::create(&path)?;
    path.canonicalize()
}

/// Opens a file, and creates it for this user only if it is missing. Fails if it is a symbolic link.
pub(super) fn open_private(options: &mut OpenOptions, path: &Path) -> Result<File, PostgresError> {
    options
        .create(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32)
        .open(path)
        .map_err(PostgresError::io("open", path))
}

/// The last whole lines of a file.
pub(super) fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let start = file.metadata()?.len().saturating_sub(TAIL_BYTES);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let whole_lines = match text.split_once('\n') {
        Some((_, rest)) if start > 0 => rest,
        _ => &text,
    };
    Ok(whole_lines.trim_end().to_owned())
}
