//! A sandbox that waits for a command, from the worker's side.

use std::fs::File;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::net::{Shutdown, shutdown};
use serde::Serialize;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::cgroup::Cgroup;
use crate::channel;
use crate::spec::{LauncherReport, SetupFailed};

/// The timeout for the death of all processes of a command. After it the worker goes on.
const DEATH_PATIENCE: Duration = Duration::from_secs(2);
/// Reports of one sandbox that are not read yet: the end of a command, and the end of the sandbox.
const REPORTS: usize = 2;

/// The reason why a command did not run.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// This machine does not allow it.
    #[error("the sandbox could not be set up")]
    Setup(#[from] SetupFailed),
    /// The launcher is gone, or died.
    #[error("the launcher does not answer")]
    Io(#[from] io::Error),
}

/// A sandbox that waits for a command. All of it goes when this is dropped.
pub(crate) struct IdleSandbox {
    pub(super) control: Arc<UnixStream>,
    pub(super) reports: mpsc::Receiver<(LauncherReport, Vec<OwnedFd>)>,
    pub(super) listeners: Vec<TcpListener>,
    pub(super) kill: CancellationToken,
    _kill_on_drop: DropGuard,
}

impl IdleSandbox {
    /// Holds the worker's end of a sandbox's control channel, when it is ready. `tracker` knows when all of it is gone.
    pub(super) async fn hold(
        control: OwnedFd,
        cgroup: Option<Cgroup>,
        tracker: &TaskTracker,
    ) -> Result<Self, LaunchError> {
        let control = Arc::new(register(control)?);
        let (heard, mut reports) = mpsc::channel(REPORTS);
        let kill = CancellationToken::new();
        let kill_on_drop = kill.clone().drop_guard();
        let lifeline = Lifeline {
            control: control.clone(),
            kill: kill.clone(),
        };
        tracker.spawn(lifeline.hold(cgroup, heard));
        let (LauncherReport::Ready, listeners) = next_report(&mut reports).await? else {
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        };
        Ok(Self {
            control,
            reports,
            listeners: listeners.into_iter().map(Into::into).collect(),
            kill,
            _kill_on_drop: kill_on_drop,
        })
    }
}

pub(super) async fn next_report(
    reports: &mut mpsc::Receiver<(LauncherReport, Vec<OwnedFd>)>,
) -> Result<(LauncherReport, Vec<OwnedFd>), LaunchError> {
    match reports.recv().await {
        Some((LauncherReport::Failed(failed), _)) => Err(failed.into()),
        Some(report) => Ok(report),
        None => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
    }
}

/// The worker's end of a control channel, held until all of the sandbox is gone.
struct Lifeline {
    control: Arc<UnixStream>,
    kill: CancellationToken,
}

impl Lifeline {
    /// Passes reports on until then.
    async fn hold(
        self,
        mut cgroup: Option<Cgroup>,
        heard: mpsc::Sender<(LauncherReport, Vec<OwnedFd>)>,
    ) {
        {
            let reporting = self.pass_on(&mut cgroup, &heard);
            tokio::pin!(reporting);
            tokio::select! {
                () = &mut reporting => {}
                () = self.kill.cancelled() => {
                    let _ = shutdown(&*self.control, Shutdown::Write);
                    if timeout(DEATH_PATIENCE, &mut reporting).await.is_err() {
                        tracing::error!("a command does not die");
                    }
                }
            }
        }
        if let Some(cgroup) = cgroup {
            cgroup.remove().await;
        }
    }

    async fn pass_on(
        &self,
        cgroup: &mut Option<Cgroup>,
        heard: &mpsc::Sender<(LauncherReport, Vec<OwnedFd>)>,
    ) {
        let receive = || channel::receive(&*self.control);
        while let Ok(Some(message)) = self.control.async_io(Interest::READABLE, receive).await {
            let Ok(mut report) = serde_json::from_slice(&message.bytes) else {
                return;
            };
            if let LauncherReport::Ended {
                ended, is_reusable, ..
            } = &mut report
                && let Some(cgroup) = &mut *cgroup
            {
                cgroup.complete(ended);
                *is_reusable &= ended.limit.is_none();
            }
            // Nobody listens to a command that was dropped.
            let _ = heard.try_send((report, message.descriptors));
        }
        // If that was told before, nobody hears it twice.
        if let Some(ended) = cgroup.as_mut().and_then(Cgroup::killed) {
            let report = LauncherReport::Ended {
                ended,
                is_reusable: false,
                disk: None,
            };
            let _ = heard.try_send((report, Vec::new()));
        }
    }
}

/// The runtime's handle of a channel. To it a socket is one, whatever its type.
pub(super) fn register(channel: OwnedFd) -> io::Result<UnixStream> {
    rustix::io::ioctl_fionbio(&channel, true)?;
    UnixStream::from_std(channel.into())
}

/// A value as a file that has no name. It may hold secrets, and goes with its last descriptor.
pub(super) fn in_memory(value: &impl Serialize) -> io::Result<OwnedFd> {
    let memory = memfd_create("skillet", MemfdFlags::CLOEXEC)?;
    File::from(memory.try_clone()?).write_all(&serde_json::to_vec(value)?)?;
    seek(&memory, SeekFrom::Start(0))?;
    Ok(memory)
}
