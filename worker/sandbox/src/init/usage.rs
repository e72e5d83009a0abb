//! Waiting for the processes of a command, and their resource usage.

use std::io;
use std::time::Duration;

use rustix::process::Pid;

/// The resource usage of the children that were waited for, including children that they waited for themselves.
#[derive(Default)]
pub(super) struct ChildUsage {
    pub(super) cpu: Duration,
    /// The highest memory use of a single child.
    pub(super) peak_memory_bytes: u64,
}

/// The result of waiting.
pub(super) enum Waited {
    /// A child has ended with this status (wait(2)).
    ChildEnded(Pid, i32),
    /// There are children, and none has ended.
    NotYet,
    /// More children may have ended than one call waits for.
    More,
    /// There are no children. Orphaned processes become children of this process, so there are no descendants either.
    Nobody,
}

/// The most children that one call waits for. Processes that replace themselves could otherwise keep it busy forever.
const MAX_AT_ONCE: usize = 1024;

impl ChildUsage {
    /// Waits for all children that have ended, and returns the state of the others.
    pub(super) fn wait_all(&mut self) -> Waited {
        self.wait_until(|_| false)
    }

    /// Waits for children that have ended, up to this child.
    pub(super) fn wait_for(&mut self, child: Pid) -> Waited {
        self.wait_until(|ended| ended == child)
    }

    fn wait_until(&mut self, is_it: impl Fn(Pid) -> bool) -> Waited {
        for _ in 0..MAX_AT_ONCE {
            match self.wait(false) {
                Waited::ChildEnded(child, _) if !is_it(child) => {}
                waited => return waited,
            }
        }
        Waited::More
    }

    /// Waits for a child if `blocking`; otherwise checks whether one has ended.
    ///
    /// Adds the usage of that child alone, because getrusage(2) returns the sum over all commands.
    pub(super) fn wait(&mut self, blocking: bool) -> Waited {
        // Includes children that send their parent no signal.
        let options = libc::__WALL | if blocking { 0 } else { libc::WNOHANG };
        let mut status = 0;
        // SAFETY: the structure contains only numbers, for which zero is valid.
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
        // `ru_maxrss` is in KiB.
        let most = taken.ru_maxrss.unsigned_abs() * 1024;
        self.peak_memory_bytes = self.peak_memory_bytes.max(most);
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.unsigned_abs())
        + Duration::from_micros(time.tv_usec.unsigned_abs())
}
