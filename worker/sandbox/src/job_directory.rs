//! The directory of one job on this machine, with its user and its sandboxes.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use tokio::time::timeout;

use crate::identity::Identity;
use crate::job_sandboxes::JobSandboxes;
use crate::remove::remove_tree;

/// The longest time that a dying command can delay the removal of its files.
const QUIESCE_TIMEOUT: Duration = Duration::from_secs(3);

/// The directory of one job: its workspace and its `/tmp`. They are created on first use, because many jobs have no
/// files, and removed when this is dropped.
pub struct JobDirectory {
    path: PathBuf,
    identity: Option<Identity>,
    /// Packages of the job's skills. Its commands can read them but not change them.
    packages: Vec<PathBuf>,
    opened: OnceLock<JobDirectories>,
    creating: Mutex<()>,
    sandboxes: JobSandboxes,
}

struct JobDirectories {
    /// The parent of the other directories.
    job: File,
    workspace: File,
}

impl JobDirectory {
    /// Returns an empty directory that only the job's user can enter. Without an identity, that is the worker's own
    /// user.
    pub fn new(path: PathBuf, identity: Option<Identity>) -> Self {
        Self {
            path,
            identity,
            packages: Vec::new(),
            opened: OnceLock::new(),
            creating: Mutex::default(),
            sandboxes: JobSandboxes::default(),
        }
    }

    /// Adds packages that commands can read: folders of this machine, each with `python` and `node`. Earlier packages
    /// take precedence.
    pub fn with_packages(mut self, packages: Vec<PathBuf>) -> Self {
        self.packages = packages;
        self
    }

    /// The packages of the job's skills.
    pub(crate) fn packages(&self) -> &[PathBuf] {
        &self.packages
    }

    /// The path on this machine.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the directory was created.
    pub fn exists(&self) -> bool {
        self.opened.get().is_some()
    }

    /// The user that commands run as, unless it is the worker's own.
    pub fn user(&self) -> Option<u32> {
        self.identity.as_ref().map(|identity| identity.id)
    }

    /// The paths of the workspace and of the job's `/tmp` on this machine.
    pub fn host_paths(&self) -> (String, String) {
        let at = |name| self.path.join(name).display().to_string();
        (at("workspace"), at("tmp"))
    }

    /// The workspace, created if necessary.
    pub fn workspace(&self) -> io::Result<&File> {
        Ok(&self.directories()?.workspace)
    }

    /// The directory that holds `workspace` and `tmp`, created if necessary.
    pub(crate) fn job(&self) -> io::Result<&File> {
        Ok(&self.directories()?.job)
    }

    pub(crate) fn sandboxes(&self) -> &JobSandboxes {
        &self.sandboxes
    }

    /// Waits until nothing runs in the directory any more. Nothing may be started from now on.
    pub async fn quiesce(&self) {
        // A process that does not die has been logged already.
        let _ = timeout(QUIESCE_TIMEOUT, self.sandboxes.quiesce()).await;
    }

    fn directories(&self) -> io::Result<&JobDirectories> {
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let _creating = self.creating.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(opened) = self.opened.get() {
            return Ok(opened);
        }
        let created = JobDirectories::create(&self.path, self.user())?;
        Ok(self.opened.get_or_init(|| created))
    }
}

impl JobDirectories {
    fn create(path: &Path, owner: Option<u32>) -> io::Result<Self> {
        let workspace = path.join("workspace");
        for directory in [path, &workspace, &path.join("tmp")] {
            fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(directory)?;
            if let Some(id) = owner {
                std::os::unix::fs::lchown(directory, Some(id), Some(id))?;
            }
        }
        Ok(Self {
            job: File::open(path)?,
            workspace: File::open(&workspace)?,
        })
    }
}

impl Drop for JobDirectory {
    fn drop(&mut self) {
        if let Err(error) = remove_tree(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a job's directory could not be removed");
        }
    }
}
