//! The process that looks after a command: inside its own process namespace it is the first.

use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::time::{TimeVal, TimeValLike};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, WaitOptions, WaitStatus, wait};
use seccompiler::BpfProgram;

use super::family::Family;
use super::payload::Ordered;
use super::watch::{self, Watch};
use super::{at, exit, payload, report};
use crate::sandbox::channel;
use crate::sandbox::spec::{Ended, Limit, Report, Setup, SetupFailed, Step};

/// What bash says of a program that grew a file too large: 128 and SIGXFSZ.
const FILE_SIZE_EXIT: i32 = 128 + libc::SIGXFSZ;

/// Says that the sandbox is ready, waits for its command, runs it, ends everything that it left, reports, and
/// ends.
pub(super) fn supervise(
    control: &OwnedFd,
    setup: &Setup,
    filter: &BpfProgram,
    listeners: Vec<TcpListener>,
    watch: Watch,
    family: Family,
) -> Result<Infallible, SetupFailed> {
    // Before there is a child, so that none goes unheard.
    let mut child_ended = SigSet::empty();
    child_ended.add(Signal::SIGCHLD);
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&child_ended), None).map_err(at(Step::Exec))?;
    let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
    let signals = SignalFd::with_flags(&child_ended, flags).map_err(at(Step::Exec))?;
    announce(control, listeners).map_err(at(Step::Exec))?;
    let Some(order) = Ordered::receive(control).map_err(at(Step::Exec))? else {
        // It is not needed any more.
        exit(0);
    };
    let Some(shell) = super::fork_child().map_err(at(Step::Exec))? else {
        let failed = payload::exec(setup, &order, filter).expect_err("it returns in trouble only");
        report(control, &Report::Failed(failed));
        exit(127);
    };
    // The pipes end with the command's own processes.
    drop(order);
    let watch = Arc::new(watch);
    // Most commands have ended before there is anything to watch.
    let wait = |patience| wait_for_end(&signals, control.as_fd(), shell, patience);
    let end = match wait(Some(watch::INTERVAL)) {
        End::NotYet => {
            watch.clone().start().map_err(at(Step::Limits))?;
            wait(None)
        }
        end => end,
    };
    let exit_code = match end {
        End::Exited(code) => code,
        End::Killed | End::NotYet => None,
    };
    family.kill();
    reap_all();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(at(Step::Exec))?;
    let limit = watch.limit();
    let ended = Ended {
        exit_code: exit_code.filter(|_| !limit.is_some_and(is_deadly)),
        limit: limit.or_else(|| (exit_code == Some(FILE_SIZE_EXIT)).then_some(Limit::FileSize)),
        cpu: time(usage.user_time()) + time(usage.system_time()),
        peak_memory_bytes: watch
            .peak_memory_bytes()
            .max(usage.max_rss().unsigned_abs() * 1024),
    };
    report(control, &Report::Ended(ended));
    exit(0);
}

fn announce(control: &OwnedFd, listeners: Vec<TcpListener>) -> io::Result<()> {
    let json = serde_json::to_vec(&Report::Ready)?;
    let descriptors: Vec<_> = listeners.iter().map(AsFd::as_fd).collect();
    channel::send(control, &json, &descriptors)
}

/// Whether the limit was kept by killing everything. The others let the program go on, with an error.
fn is_deadly(limit: Limit) -> bool {
    !matches!(limit, Limit::Processes | Limit::FileSize)
}

/// What came of waiting for a command.
enum End {
    /// It ended, with an exit code as a shell gives it.
    Exited(Option<i32>),
    /// The worker wants its end, or is gone.
    Killed,
    /// It runs.
    NotYet,
}

fn wait_for_end(
    signals: &SignalFd,
    control: BorrowedFd<'_>,
    shell: Pid,
    patience: Option<Duration>,
) -> End {
    let deadline = patience.map(|patience| Instant::now() + patience);
    loop {
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let left = left.map(|left| Timespec::try_from(left).expect("it is short"));
        let mut waiting = [
            PollFd::new(signals, PollFlags::IN),
            PollFd::from_borrowed_fd(control, PollFlags::IN),
        ];
        match poll(&mut waiting, left.as_ref()) {
            Ok(0) => return End::NotYet,
            Ok(_) => {}
            Err(_) => continue,
        }
        // The worker says nothing after the beginning, so this is the end of the lifeline.
        if !waiting[1].revents().is_empty() {
            return End::Killed;
        }
        while let Ok(Some(_)) = signals.read_signal() {}
        // Also those who lost their parent and became our children.
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if pid == shell {
                return End::Exited(exit_code(status));
            }
        }
    }
}

/// As a shell gives it.
fn exit_code(status: WaitStatus) -> Option<i32> {
    status
        .exit_status()
        .or_else(|| status.terminating_signal().map(|signal| 128 + signal))
}

/// Waits until every child is gone, so that their usage counts.
fn reap_all() {
    while let Ok(Some(_)) = wait(WaitOptions::empty()) {}
}

fn time(value: TimeVal) -> Duration {
    let micros = value.num_microseconds();
    Duration::from_micros(micros.unsigned_abs())
}
