//! The supervisor of commands, which runs them one after the other. In a process namespace it is the first process.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;
use seccompiler::BpfProgram;

use super::command::Ordered;
use super::limit_watchdog::{self, LimitWatchdog};
use super::process_set::ProcessSet;
use super::reuse_check::ReuseCheck;
use super::usage::{ChildUsage, Waited};
use super::{at, command, exit, report};
use crate::channel;
use crate::spec::{CommandEnd, LauncherReport, Limit, Setup, SetupFailed, SetupStep};

/// The exit code of bash for a program that exceeded the file size limit: 128 and SIGXFSZ.
const FILE_SIZE_EXIT: i32 = 128 + libc::SIGXFSZ;

/// The supervisor of the commands in one sandbox.
pub(super) struct Supervisor<'a> {
    pub(super) control: &'a OwnedFd,
    pub(super) setup: &'a Setup,
    pub(super) filter: &'a BpfProgram,
    pub(super) watch: Arc<LimitWatchdog>,
    pub(super) process_set: ProcessSet,
}

impl Supervisor<'_> {
    /// Reports that the sandbox is ready, and runs commands as long as each one leaves it unchanged. After each
    /// command, it kills all remaining processes and reports the end.
    pub(super) fn serve(self, listeners: Vec<TcpListener>) -> Result<Infallible, SetupFailed> {
        // Before the first child starts, so that no signal is missed.
        let signals = watch_children().map_err(at(SetupStep::Exec))?;
        let new = ReuseCheck::look(self.process_set);
        announce(self.control, listeners).map_err(at(SetupStep::Exec))?;
        while let Some(order) = Ordered::receive(self.control).map_err(at(SetupStep::Exec))? {
            let (ended, is_quick) = self.run(order, &signals)?;
            // A long command has a watchdog thread, which ends only with this process.
            let is_reusable = is_quick
                && ended.limit.is_none()
                && new.is_some()
                && ReuseCheck::look(self.process_set) == new;
            let told = LauncherReport::Ended {
                ended,
                is_reusable,
                disk: self.watch.disk(),
            };
            report(self.control, &told);
            if !is_reusable {
                break;
            }
        }
        exit(0);
    }

    /// Runs a command. Returns its end, and whether it ended before the watchdog started.
    fn run(&self, order: Ordered, signals: &SignalFd) -> Result<(CommandEnd, bool), SetupFailed> {
        let Some(shell) = super::fork_child().map_err(at(SetupStep::Exec))? else {
            let failed = command::exec(self.setup, &order, self.filter)
                .expect_err("it returns in trouble only");
            report(self.control, &LauncherReport::Failed(failed));
            exit(127);
        };
        self.watch.begin(order.disk());
        // The pipes must close with the command's own processes.
        drop(order);
        let mut usage = ChildUsage::default();
        // Most commands end before there is anything to watch.
        let mut end = self.wait_for_end(signals, shell, Some(limit_watchdog::INTERVAL), &mut usage);
        let is_quick = matches!(end, WaitResult::Exited(_));
        if let WaitResult::NotYet = end {
            self.watch
                .clone()
                .start(shell)
                .map_err(at(SetupStep::Limits))?;
            end = self.wait_for_end(signals, shell, None, &mut usage);
        }
        self.end_all(&mut usage);
        let (exit_code, limit) = match end {
            WaitResult::Exited(code) => (code, self.watch.limit_at_end()),
            // The worker waits only for the end here, so the disk is not measured.
            WaitResult::Killed | WaitResult::NotYet => (None, self.watch.limit()),
        };
        let is_killed = limit.is_some_and(|limit| self.watch.is_deadly(limit));
        let ended = CommandEnd {
            exit_code: exit_code.filter(|_| !is_killed),
            limit: limit.or_else(|| (exit_code == Some(FILE_SIZE_EXIT)).then_some(Limit::FileSize)),
            cpu: usage.cpu,
            peak_memory_bytes: self.watch.peak_memory_bytes().max(usage.peak_memory_bytes),
        };
        Ok((ended, is_quick))
    }

    fn wait_for_end(
        &self,
        signals: &SignalFd,
        shell: Pid,
        patience: Option<Duration>,
        usage: &mut ChildUsage,
    ) -> WaitResult {
        let deadline = patience.map(|patience| Instant::now() + patience);
        let mut are_more_ended = false;
        loop {
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            let is_late = left.is_some_and(|left| left.is_zero());
            let left = if are_more_ended {
                Some(Duration::ZERO)
            } else {
                left
            };
            let left = left.map(|left| Timespec::try_from(left).expect("it is short"));
            let mut waiting = [
                PollFd::new(signals, PollFlags::IN),
                PollFd::new(self.control, PollFlags::IN),
            ];
            match poll(&mut waiting, left.as_ref()) {
                Ok(0) if is_late || !are_more_ended => return WaitResult::NotYet,
                Ok(_) => {}
                Err(_) => continue,
            }
            // The worker sends nothing while a command runs, so this is the end of the lifeline.
            if !waiting[1].revents().is_empty() {
                return WaitResult::Killed;
            }
            while let Ok(Some(_)) = signals.read_signal() {}
            // This includes orphaned processes that became children of this process.
            match usage.wait_for(shell) {
                Waited::ChildEnded(_, status) => return WaitResult::Exited(exit_code(status)),
                Waited::More => are_more_ended = true,
                Waited::NotYet | Waited::Nobody => are_more_ended = false,
            }
        }
    }

    /// Kills all remaining processes and waits for every child, so that their usage counts.
    fn end_all(&self, usage: &mut ChildUsage) {
        // After most commands no process remains.
        if !matches!(usage.wait_all(), Waited::Nobody) {
            self.process_set.end(usage);
        }
    }
}

/// Makes the end of a child visible to poll(2).
fn watch_children() -> io::Result<SignalFd> {
    let mut child_ended = SigSet::empty();
    child_ended.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&child_ended), None)?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    Ok(SignalFd::with_flags(&child_ended, flags)?)
}

fn announce(control: &OwnedFd, listeners: Vec<TcpListener>) -> io::Result<()> {
    let json = serde_json::to_vec(&LauncherReport::Ready)?;
    let descriptors: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    channel::send(control, &json, &descriptors)
}

/// The result of waiting for a command.
enum WaitResult {
    /// The command ended, with an exit code as a shell reports it.
    Exited(Option<i32>),
    /// The worker requested the end, or is gone.
    Killed,
    /// The command still runs.
    NotYet,
}

/// Returns the exit code as a shell reports it.
fn exit_code(status: i32) -> Option<i32> {
    if libc::WIFEXITED(status) {
        Some(libc::WEXITSTATUS(status))
    } else {
        libc::WIFSIGNALED(status).then(|| 128 + libc::WTERMSIG(status))
    }
}
