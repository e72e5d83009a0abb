//! The worker's side of the launcher.

use std::fs::File;
use std::io::{self, Write};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::process::Stdio;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SeekFrom, memfd_create, seek};
use rustix::net::{Shutdown, shutdown};
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::{Mutex, mpsc};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use super::cgroup::Cgroup;
use super::channel;
use super::spec::{Ended, Report, SetupFailed, Spec};

/// How long everything of a command may take to die. After it the worker goes on without knowing.
const DEATH_PATIENCE: Duration = Duration::from_secs(2);
/// Reports of one command: two at most.
const REPORTS: usize = 2;

/// Starts commands through a process that has nothing to do with the worker's own memory.
pub(super) struct Launcher {
    /// Begun anew if it was killed.
    process: Mutex<Option<Process>>,
}

struct Process {
    channel: UnixStream,
    _child: Child,
}

/// A command that was started. Everything of it dies when this is dropped.
pub(crate) struct Running {
    output: Option<(Receiver, Receiver)>,
    reports: mpsc::Receiver<(Report, Vec<OwnedFd>)>,
    kill: CancellationToken,
    _kill_on_drop: DropGuard,
}

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

impl Launcher {
    pub(super) fn new() -> Self {
        Self {
            process: Mutex::new(None),
        }
    }

    /// Starts a command in a job's directory. `tracker` knows when all of it is gone.
    pub(super) async fn start(
        &self,
        spec: &Spec,
        cgroup: Option<Cgroup>,
        directory: &File,
        tracker: &TaskTracker,
    ) -> io::Result<Running> {
        let (control, their_control) = channel::pair()?;
        let (stdout, their_stdout) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (stderr, their_stderr) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let written = in_memory(&serde_json::to_vec(spec)?)?;
        let descriptors = [
            their_control.as_fd(),
            their_stdout.as_fd(),
            their_stderr.as_fd(),
            directory.as_fd(),
            written.as_fd(),
        ];
        self.send(&descriptors).await?;
        rustix::io::ioctl_fionbio(&stdout, true)?;
        rustix::io::ioctl_fionbio(&stderr, true)?;
        let (heard, reports) = mpsc::channel(REPORTS);
        let kill = CancellationToken::new();
        let lifeline = Lifeline {
            control: register(control)?,
            kill: kill.clone(),
            cgroup,
        };
        tracker.spawn(lifeline.hold(heard));
        Ok(Running {
            output: Some((
                Receiver::from_owned_fd(stdout)?,
                Receiver::from_owned_fd(stderr)?,
            )),
            reports,
            _kill_on_drop: kill.clone().drop_guard(),
            kill,
        })
    }

    /// Hands descriptors to the launcher, which is started if it does not run.
    async fn send(&self, descriptors: &[std::os::fd::BorrowedFd<'_>]) -> io::Result<()> {
        let mut process = self.process.lock().await;
        if let Some(running) = &*process {
            match running.send(descriptors).await {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                    tracing::warn!("the launcher was gone and is started anew");
                }
                sent => return sent,
            }
        }
        process.insert(Process::start()?).send(descriptors).await
    }
}

impl Process {
    /// Starts this program again, with another task and an empty environment.
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

    async fn send(&self, descriptors: &[std::os::fd::BorrowedFd<'_>]) -> io::Result<()> {
        self.channel
            .async_io(Interest::WRITABLE, || {
                channel::send(&self.channel, b"run", descriptors)
            })
            .await
    }
}

impl Running {
    /// What it prints on standard output and standard error.
    ///
    /// # Panics
    ///
    /// If it was taken before.
    pub(crate) fn take_output(&mut self) -> (Receiver, Receiver) {
        self.output.take().expect("output is taken once")
    }

    /// Waits until it is set up, and returns the sockets that listen inside.
    pub(crate) async fn started(&mut self) -> Result<Vec<TcpListener>, LaunchError> {
        match self.next().await? {
            (Report::Started, listeners) => Ok(listeners.into_iter().map(Into::into).collect()),
            _ => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self) -> Result<Ended, LaunchError> {
        match self.next().await? {
            (Report::Ended(ended), _) => Ok(ended),
            _ => Err(io::Error::from(io::ErrorKind::InvalidData).into()),
        }
    }

    /// Has everything of it die. `ended` says when that is done.
    pub(crate) fn kill(&self) {
        self.kill.cancel();
    }

    async fn next(&mut self) -> Result<(Report, Vec<OwnedFd>), LaunchError> {
        match self.reports.recv().await {
            Some((Report::Failed(failed), _)) => Err(failed.into()),
            Some(report) => Ok(report),
            None => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
        }
    }
}

/// The worker's end of a command's control channel.
struct Lifeline {
    control: UnixStream,
    kill: CancellationToken,
    cgroup: Option<Cgroup>,
}

impl Lifeline {
    /// Passes reports on until the command is gone.
    async fn hold(self, heard: mpsc::Sender<(Report, Vec<OwnedFd>)>) {
        {
            let reporting = self.pass_on(&heard);
            tokio::pin!(reporting);
            tokio::select! {
                () = &mut reporting => {}
                () = self.kill.cancelled() => {
                    let _ = shutdown(&self.control, Shutdown::Write);
                    if timeout(DEATH_PATIENCE, &mut reporting).await.is_err() {
                        tracing::error!("a command does not die");
                    }
                }
            }
        }
        let Some(cgroup) = self.cgroup else {
            return;
        };
        // After another end this comes too late to be read.
        if let Some(ended) = cgroup.killed() {
            let _ = heard.try_send((Report::Ended(ended), Vec::new()));
        }
        cgroup.remove().await;
    }

    async fn pass_on(&self, heard: &mpsc::Sender<(Report, Vec<OwnedFd>)>) {
        let receive = || channel::receive(&self.control);
        while let Ok(Some(message)) = self.control.async_io(Interest::READABLE, receive).await {
            let Ok(mut report) = serde_json::from_slice(&message.bytes) else {
                return;
            };
            if let (Report::Ended(ended), Some(cgroup)) = (&mut report, &self.cgroup) {
                cgroup.complete(ended);
            }
            // Nobody listens to a command that was dropped.
            let _ = heard.try_send((report, message.descriptors));
        }
    }
}

/// The runtime's handle of a channel. To it a socket is one, whatever its type.
fn register(channel: OwnedFd) -> io::Result<UnixStream> {
    rustix::io::ioctl_fionbio(&channel, true)?;
    UnixStream::from_std(channel.into())
}

/// Text as a file that has no name. It may hold secrets, and goes with its last descriptor.
fn in_memory(bytes: &[u8]) -> io::Result<OwnedFd> {
    let memory = memfd_create("spec", MemfdFlags::CLOEXEC)?;
    File::from(memory.try_clone()?).write_all(bytes)?;
    seek(&memory, SeekFrom::Start(0))?;
    Ok(memory)
}
