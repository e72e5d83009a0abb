//! A sandbox from the worker's side: made, then given a command, then kept for another or ended.

use std::fs::File;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SeekFrom, Uid, fchown, memfd_create, seek};
use rustix::net::{Shutdown, shutdown};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::Serialize;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::cgroup::Cgroup;
use super::channel;
use super::spec::{Ended, Order, Report, SetupFailed};
use super::underway::Home;

/// How long everything of a command may take to die. After it the worker goes on without knowing.
const DEATH_PATIENCE: Duration = Duration::from_secs(2);
/// Reports of one sandbox that are not heard yet: the end of a command, and that of all.
const REPORTS: usize = 2;

/// Why a command did not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LaunchError {
    /// This machine does not allow it.
    #[error("the sandbox could not be set up")]
    Setup(#[from] SetupFailed),
    /// The launcher is gone, or died.
    #[error("the launcher does not answer")]
    Io(#[from] io::Error),
}

/// A sandbox that waits for a command. All of it goes when this is dropped.
pub(crate) struct Idle {
    control: Arc<UnixStream>,
    reports: mpsc::Receiver<(Report, Vec<OwnedFd>)>,
    listeners: Vec<TcpListener>,
    kill: CancellationToken,
    _kill_on_drop: DropGuard,
}

/// A command in its sandbox. Everything of it dies when this is dropped.
pub(crate) struct Running {
    input: Option<Sender>,
    output: Option<(Receiver, Receiver)>,
    listeners: Vec<TcpListener>,
    sandbox: Option<Idle>,
    /// Where the sandbox goes when this is dropped, if it may.
    home: Option<Home>,
    is_reusable: bool,
}

impl Idle {
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
        let (Report::Ready, listeners) = next(&mut reports).await? else {
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

    /// Gives it a command. `owner` is the user that it runs as, if that is not ours.
    pub(super) async fn run(
        self,
        order: &Order,
        reads: bool,
        owner: Option<u32>,
    ) -> io::Result<Running> {
        let (stdout, their_stdout) = pipe(owner)?;
        let (stderr, their_stderr) = pipe(owner)?;
        let (input, their_stdin) = if reads {
            let (input, theirs) = input_pipe(owner)?;
            (Some(input), Some(theirs))
        } else {
            (None, None)
        };
        let listeners: io::Result<_> = self.listeners.iter().map(TcpListener::try_clone).collect();
        let listeners = listeners?;
        let written = in_memory(order)?;
        let mut descriptors = vec![their_stdout.as_fd(), their_stderr.as_fd(), written.as_fd()];
        descriptors.extend(their_stdin.as_ref().map(AsFd::as_fd));
        let send = || channel::send(&*self.control, b"run", &descriptors);
        self.control.async_io(Interest::WRITABLE, send).await?;
        Ok(Running {
            input,
            output: Some((stdout, stderr)),
            listeners,
            sandbox: Some(self),
            home: None,
            is_reusable: false,
        })
    }
}

impl Running {
    /// Has the sandbox kept there when this is dropped, if the command has ended by then and left it as new.
    pub(super) fn keep_at(&mut self, home: Home) {
        self.home = Some(home);
    }

    /// What it reads on standard input, if it was started to read.
    pub(crate) fn take_input(&mut self) -> Option<Sender> {
        self.input.take()
    }

    /// What it prints on standard output and standard error.
    ///
    /// # Panics
    ///
    /// If it was taken before.
    pub(crate) fn take_output(&mut self) -> (Receiver, Receiver) {
        self.output.take().expect("output is taken once")
    }

    /// The sockets that listen inside. They are to be served no longer than this is held: the next command has them, too.
    pub(crate) fn take_listeners(&mut self) -> Vec<TcpListener> {
        std::mem::take(&mut self.listeners)
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> Result<Ended, LaunchError> {
        let Some(sandbox) = &mut self.sandbox else {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        };
        match next(&mut sandbox.reports).await? {
            (
                Report::Ended {
                    ended,
                    is_reusable,
                    disk,
                },
                _,
            ) => {
                self.is_reusable = is_reusable;
                if let (Some(home), Some(disk)) = (&self.home, disk) {
                    home.note_disk(disk);
                }
                Ok(ended)
            }
            _ => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
    }

    /// Has everything of it die. `ended` says when that is done.
    pub(crate) fn kill(&self) {
        if let Some(sandbox) = &self.sandbox {
            sandbox.kill.cancel();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A sandbox that is about to die takes no other command along.
        let is_fit = |sandbox: &Idle| self.is_reusable && !sandbox.kill.is_cancelled();
        let fit = self.sandbox.take().filter(is_fit);
        if let (Some(sandbox), Some(home)) = (fit, self.home.take()) {
            home.keep(sandbox);
        }
    }
}

async fn next(
    reports: &mut mpsc::Receiver<(Report, Vec<OwnedFd>)>,
) -> Result<(Report, Vec<OwnedFd>), LaunchError> {
    match reports.recv().await {
        Some((Report::Failed(failed), _)) => Err(failed.into()),
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
    async fn hold(self, mut cgroup: Option<Cgroup>, heard: mpsc::Sender<(Report, Vec<OwnedFd>)>) {
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
        heard: &mpsc::Sender<(Report, Vec<OwnedFd>)>,
    ) {
        let receive = || channel::receive(&*self.control);
        while let Ok(Some(message)) = self.control.async_io(Interest::READABLE, receive).await {
            let Ok(mut report) = serde_json::from_slice(&message.bytes) else {
                return;
            };
            if let Report::Ended {
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
            let report = Report::Ended {
                ended,
                is_reusable: false,
                disk: None,
            };
            let _ = heard.try_send((report, Vec::new()));
        }
    }
}

/// A pipe for what a command prints. Whoever opens /dev/stderr opens it anew, and has to be its owner.
fn pipe(owner: Option<u32>) -> io::Result<(Receiver, OwnedFd)> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    fchown(&theirs, owner.map(Uid::from_raw), None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((Receiver::from_owned_fd(ours)?, theirs))
}

/// A pipe for what a command reads, likewise.
fn input_pipe(owner: Option<u32>) -> io::Result<(Sender, OwnedFd)> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    fchown(&theirs, owner.map(Uid::from_raw), None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((Sender::from_owned_fd(ours)?, theirs))
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
