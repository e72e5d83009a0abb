//! An idle sandbox, from the worker's side.

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

/// The time in which all processes of a command must die. The worker continues after it.
const DEATH_TIMEOUT: Duration = Duration::from_secs(2);
/// The capacity for unread reports of one sandbox: the end of a command and the end of the sandbox.
const REPORTS: usize = 2;

/// The reason why a command did not run.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The machine does not allow a setup step.
    #[error("the sandbox could not be set up")]
    Setup(#[from] SetupFailed),
    /// The launcher has exited or died.
    #[error("the launcher does not answer")]
    Io(#[from] io::Error),
}

/// A sandbox that waits for a command. It ends when this is dropped.
pub(crate) struct IdleSandbox {
    pub(super) control: Arc<UnixStream>,
    pub(super) reports: mpsc::Receiver<(LauncherReport, Vec<OwnedFd>)>,
    pub(super) listeners: Vec<TcpListener>,
    pub(super) kill: CancellationToken,
    _kill_on_drop: DropGuard,
}

impl IdleSandbox {
    /// Takes the worker's end of a sandbox's control channel and waits until the sandbox is ready. `tracker` tracks
    /// the sandbox until all of it is gone.
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
    /// Forwards reports until the sandbox is gone.
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
                    if timeout(DEATH_TIMEOUT, &mut reporting).await.is_err() {
                        tracing::error!("a command did not exit after it was killed");
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
            // Nobody reads the report of a command that was dropped.
            let _ = heard.try_send((report, message.descriptors));
        }
        // If the end was reported before, nobody reads this second report.
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

/// Registers a channel with the async runtime, which accepts a socket of any type as a `UnixStream`.
pub(super) fn register(channel: OwnedFd) -> io::Result<UnixStream> {
    rustix::io::ioctl_fionbio(&channel, true)?;
    UnixStream::from_std(channel.into())
}

/// Serializes a value to a file without a name. It may contain secrets, and disappears with its last descriptor.
pub(super) fn in_memory(value: &impl Serialize) -> io::Result<OwnedFd> {
    let memory = memfd_create("skillet", MemfdFlags::CLOEXEC)?;
    File::from(memory.try_clone()?).write_all(&serde_json::to_vec(value)?)?;
    seek(&memory, SeekFrom::Start(0))?;
    Ok(memory)
}
