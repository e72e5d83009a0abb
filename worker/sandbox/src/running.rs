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

/// A command in its sandbox. All of its processes die when this is dropped.
pub struct RunningCommand {
    input: Option<Sender>,
    output: Option<(Receiver, Receiver)>,
    listeners: Vec<TcpListener>,
    sandbox: Option<IdleSandbox>,
    /// The slot that keeps the sandbox when this is dropped, if it can be reused.
    home: Option<ReuseSlot>,
    is_reusable: bool,
}

impl RunningCommand {
    /// Starts a command in an idle sandbox. `owner` is the user that the command runs as, unless it is the worker's
    /// own.
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

    /// Keeps the sandbox in that slot when this is dropped, if the command has ended by then and left the sandbox
    /// unchanged.
    pub(super) fn keep_at(&mut self, home: ReuseSlot) {
        self.home = Some(home);
    }

    /// Returns the standard input, if the command was started with one.
    pub fn take_input(&mut self) -> Option<Sender> {
        self.input.take()
    }

    /// Returns the standard output and standard error.
    ///
    /// # Panics
    ///
    /// If the output was taken before.
    pub fn take_output(&mut self) -> (Receiver, Receiver) {
        self.output.take().expect("output is taken once")
    }

    /// Returns the sockets that listen inside. Stop serving them before this is dropped, because the next command uses
    /// them too.
    pub fn take_listeners(&mut self) -> Vec<TcpListener> {
        std::mem::take(&mut self.listeners)
    }

    /// Waits for the end of the command.
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

    /// Kills all processes of the command. `ended` returns when that is done.
    pub fn kill(&self) {
        if let Some(sandbox) = &self.sandbox {
            sandbox.kill.cancel();
        }
    }
}

impl Drop for RunningCommand {
    fn drop(&mut self) {
        // A sandbox that is about to die must not run another command.
        let is_fit = |sandbox: &IdleSandbox| self.is_reusable && !sandbox.kill.is_cancelled();
        let fit = self.sandbox.take().filter(is_fit);
        if let (Some(sandbox), Some(home)) = (fit, self.home.take()) {
            home.keep(sandbox);
        }
    }
}

/// Creates a pipe for the output of a command. Only its owner can open it again, for example through /dev/stderr.
fn pipe(owner: Option<u32>) -> io::Result<(Receiver, OwnedFd)> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC)?;
    fchown(&theirs, owner.map(Uid::from_raw), None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((Receiver::from_owned_fd(ours)?, theirs))
}

/// Creates a pipe for the input of a command, in the same way.
fn input_pipe(owner: Option<u32>) -> io::Result<(Sender, OwnedFd)> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC)?;
    fchown(&theirs, owner.map(Uid::from_raw), None)?;
    rustix::io::ioctl_fionbio(&ours, true)?;
    Ok((Sender::from_owned_fd(ours)?, theirs))
}
