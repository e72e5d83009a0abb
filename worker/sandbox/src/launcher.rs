//! The worker's side of the launcher.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::process::Stdio;

use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::sync::Mutex;
use tokio_util::task::TaskTracker;

use super::cgroup::Cgroup;
use super::channel;
use super::idle::{IdleSandbox, LaunchError, in_memory, register};
use super::spec::Setup;

/// Creates sandboxes through a process that is separate from the worker's memory.
pub(super) struct Launcher {
    /// Restarted if it was killed.
    process: Mutex<Option<LauncherProcess>>,
}

struct LauncherProcess {
    channel: UnixStream,
    _child: Child,
}

impl Launcher {
    pub(super) fn new() -> Self {
        Self {
            process: Mutex::new(None),
        }
    }

    /// Creates a sandbox for a job's directory. `tracker` tracks the sandbox until all of it is gone.
    pub(super) async fn make(
        &self,
        setup: &Setup,
        cgroup: Option<Cgroup>,
        directory: &File,
        tracker: &TaskTracker,
    ) -> Result<IdleSandbox, LaunchError> {
        let (control, theirs) = channel::pair()?;
        let written = in_memory(setup)?;
        self.send(&[theirs.as_fd(), directory.as_fd(), written.as_fd()])
            .await?;
        IdleSandbox::hold(control, cgroup, tracker).await
    }

    /// Sends descriptors to the launcher, and starts it if it does not run.
    async fn send(&self, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let mut process = self.process.lock().await;
        if let Some(running) = &*process {
            match running.send(descriptors).await {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    tracing::warn!("the launcher exited and is started again");
                }
                sent => return sent,
            }
        }
        process
            .insert(LauncherProcess::start()?)
            .send(descriptors)
            .await
    }
}

impl LauncherProcess {
    /// Starts this program again, with another subcommand and an empty environment.
    fn start() -> io::Result<Self> {
        let (channel, theirs) = channel::pair()?;
        let child = Command::new("/proc/self/exe")
            .arg("sandbox-init")
            .env_clear()
            .current_dir("/")
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self {
            channel: register(channel)?,
            _child: child,
        })
    }

    async fn send(&self, descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let send = || channel::send(&self.channel, b"make", descriptors);
        self.channel.async_io(Interest::WRITABLE, send).await
    }
}
