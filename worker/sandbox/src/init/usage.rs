//! Waiting for the processes of a command, and their resource usage.

use std::io;
use std::time::Duration;

use rustix::process::Pid;

/// The resource usage of the children that were waited for, and of those that they had waited for themselves.
#[derive(Default)]
pub(super) struct ChildUsage {
    pub(super) cpu: Duration,
    /// The most that any one of them had.
    pub(super) peak_memory_bytes: u64,
}

/// The result of waiting.
pub(super) enum Waited {
    /// One has ended, with that status (wait(2)).
    ChildEnded(Pid, i32),
    /// Some are there, and none has ended.
    NotYet,
    /// More may have ended than were waited for in one go.
    More,
    /// There are no children. A process that loses its parent becomes our child, so there are no descendants either.
    Nobody,
}

/// Children that are waited for in one go: those that replace themselves could end without end.
const MOST_AT_ONCE: usize = 1024;

impl ChildUsage {
    /// Waits for those that have ended, and says what of the others is known.
    pub(super) fn wait_all(&mut self) -> Waited {
        self.wait_until(|_| false)
    }

    /// Waits for those that have ended until it comes to that one.
    pub(super) fn wait_for(&mut self, child: Pid) -> Waited {
        self.wait_until(|ended| ended == child)
    }

    fn wait_until(&mut self, is_it: impl Fn(Pid) -> bool) -> Waited {
        for _ in 0..MOST_AT_ONCE {
            match self.wait(false) {
                Waited::ChildEnded(child, _) if !is_it(child) => {}
                waited => return waited,
            }
        }
        Waited::More
    }

    /// Waits for a child if `blocking`, or looks whether one has ended.
    ///
    /// It tells of that child alone: what getrusage(2) says of children is the sum of all commands.
    pub(super) fn wait(&mut self, blocking: bool) -> Waited {
        // Also those that send their parent no signal.
        let options = libc::__WALL | if blocking { 0 } else { libc::WNOHANG };
        let mut status = 0;
        // SAFETY: it is a structure of numbers, of which zero is one.
        #[expect(unsafe_code)]
        let mut taken: libc::rusage = unsafe { std::mem::zeroed() };
        loop {
            // SAFETY: both outlive the call, which writes no more than they hold.
            #[expect(unsafe_code)]
            let pid = unsafe { libc::wait4(-1, &raw mut status, options, &raw mut taken) };
            if let Some(pid) = Pid::from_raw(pid.max(0)) {
                self.add(&taken);
                return Waited::ChildEnded(pid, status);
            }
            if pid == 0 {
                return Waited::NotYet;
            }
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return Waited::Nobody;
            }
        }
    }

    fn add(&mut self, taken: &libc::rusage) {
        self.cpu += duration(taken.ru_utime) + duration(taken.ru_stime);
        // In KiB.
        let most = taken.ru_maxrss.unsigned_abs() * 1024;
        self.peak_memory_bytes = self.peak_memory_bytes.max(most);
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_micros(time.tv_usec.unsigned_abs())
}
