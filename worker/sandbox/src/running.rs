//! A command that runs in its sandbox, from the worker's side.

use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{Uid, fchown};
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::Interest;
use tokio::net::unix::pipe::{Receiver, Sender};

use crate::channel;
use crate::idle::{IdleSandbox, LaunchError, in_memory, next_report};
use crate::job_sandboxes::ReuseSlot;
use crate::spec::{CommandEnd, CommandOrder, LauncherReport};

/// A command in its sandbox. Everything of it dies when this is dropped.
pub struct RunningCommand {
    input: Option<Sender>,
    output: Option<(Receiver, Receiver)>,
    listeners: Vec<TcpListener>,
    sandbox: Option<IdleSandbox>,
    /// The pool that gets the sandbox when this is dropped, if it may be reused.
    home: Option<ReuseSlot>,
    is_reusable: bool,
}

impl RunningCommand {
    /// Starts a command in a sandbox that waits for one. `owner` is the user that it runs as, if it is not the
    /// worker's own.
    pub(super) async fn start(
        sandbox: IdleSandbox,
        order: &CommandOrder,
        reads: bool,
        owner: Option<u32>,
    ) -> io::Result<Self> {
        let (stdout, their_stdout) = pipe(owner)?;
        let (stderr, their_stderr) = pipe(owner)?;
        let (input, their_stdin) = if reads {
            let (input, theirs) = input_pipe(owner)?;
            (Some(input), Some(theirs))
        } else {
            (None, None)
        };
        let listeners: io::Result<_> = sandbox
            .listeners
            .iter()
            .map(TcpListener::try_clone)
            .collect();
        let listeners = listeners?;
        let written = in_memory(order)?;
        let mut descriptors = vec![their_stdout.as_fd(), their_stderr.as_fd(), written.as_fd()];
        descriptors.extend(their_stdin.as_ref().map(AsFd::as_fd));
        let send = || channel::send(&*sandbox.control, b"run", &descriptors);
        sandbox.control.async_io(Interest::WRITABLE, send).await?;
        Ok(Self {
            input,
            output: Some((stdout, stderr)),
            listeners,
            sandbox: Some(sandbox),
            home: None,
            is_reusable: false,
        })
    }

    /// Has the sandbox kept there when this is dropped, if the command has ended by then and left it as new.
    pub(super) fn keep_at(&mut self, home: ReuseSlot) {
        self.home = Some(home);
    }

    /// Its standard input, if it was started to read.
    pub fn take_input(&mut self) -> Option<Sender> {
        self.input.take()
    }

    /// Its standard output and standard error.
    ///
    /// # Panics
    ///
    /// If it was taken before.
    pub fn take_output(&mut self) -> (Receiver, Receiver) {
        self.output.take().expect("output is taken once")
    }

    /// The sockets that listen inside. Stop serving them before this is dropped: the next command uses them, too.
    pub fn take_listeners(&mut self) -> Vec<TcpListener> {
        std::mem::take(&mut self.listeners)
    }

    /// Waits for its end.
    pub async fn ended(&mut self) -> Result<CommandEnd, LaunchError> {
        let Some(sandbox) = &mut self.sandbox else {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        };
        match next_report(&mut sandbox.reports).await? {
            (
                LauncherReport::Ended {
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
    pub fn kill(&self) {
        if let Some(sandbox) = &self.sandbox {
            sandbox.kill.cancel();
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // A sandbox that is about to die takes no other command along.
        let is_fit = |sandbox: &IdleSandbox| self.is_reusable && !sandbox.kill.is_cancelled();
        let fit = self.sandbox.take().filter(is_fit);
        if let (Some(sandbox), Some(home)) = (fit, self.home.take()) {
            home.keep(sandbox);
        }
    }
}

/// A pipe for what a command prints. A process that opens /dev/stderr opens it anew, and has to be its owner.
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
