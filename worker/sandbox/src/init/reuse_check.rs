//! The check whether a sandbox can be reused: everything that can remain after its processes.
//!
//! Everything else is gone when the last process has been waited for: memory, open files including those without a
//! name, locks and timers. Without capabilities, the processes cannot change mounts, the host name and sysctls. The
//! system call filter denies keys and changes to the limits of other processes, and a limit of zero prevents POSIX
//! message queues. Files in the job's own directories are meant to stay.

use std::fs;
use std::io;

use rustix::fs::{stat, statvfs};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::process_set::ProcessSet;

/// A snapshot of that state. A sandbox can be reused if it has the same state as before its first command.
#[derive(PartialEq, Eq)]
pub(super) struct ReuseCheck {
    inherited: Inherited,
    /// Without namespaces these belong to the machine, and a new sandbox would have them as well.
    confined: Option<Confined>,
}

/// The properties of this process that a command of the same user can change and the next command inherits.
#[derive(PartialEq, Eq)]
struct Inherited {
    processors: CpuSet,
    /// Policy and priority in the format of sched_getattr(2).
    scheduling: [u8; SCHEDULING_BYTES],
    io_priority: i64,
}

/// The state of the namespaces.
#[derive(PartialEq, Eq)]
struct Confined {
    /// Shared memory, queues and semaphores of System V (proc_sysvipc(5)).
    system_v: [String; 3],
    /// Free blocks, free inodes and the mode of /dev/shm.
    shared_memory: (u64, u64, u32),
    /// Open sockets, also without a process: connections that nobody accepted, with their data, and sockets that are
    /// in transit through each other.
    sockets: u64,
    /// Closed connections, whose ports stay in use for a minute.
    waiting: u64,
}

/// Larger than the structure of any kernel.
const SCHEDULING_BYTES: usize = 128;
/// ioprio_set(2), `IOPRIO_WHO_PROCESS`.
const IO_OF_PROCESS: libc::c_int = 1;

impl ReuseCheck {
    /// Takes a snapshot. Returns `None` if something cannot be read.
    pub(super) fn look(process_set: ProcessSet) -> Option<Self> {
        Some(Self {
            inherited: Inherited::look().ok()?,
            confined: match process_set {
                ProcessSet::Namespace => Some(Confined::look()?),
                ProcessSet::Scope | ProcessSet::Descendants { .. } => None,
            },
        })
    }
}

impl Inherited {
    fn look() -> io::Result<Self> {
        let mut scheduling = [0; SCHEDULING_BYTES];
        // SAFETY: the kernel writes at most the size that it receives.
        #[expect(unsafe_code)]
        let got = unsafe {
            libc::syscall(
                libc::SYS_sched_getattr,
                0,
                scheduling.as_mut_ptr(),
                SCHEDULING_BYTES,
                0,
            )
        };
        if got != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            processors: sched_getaffinity(None)?,
            scheduling,
            // SAFETY: the call takes only numbers.
            #[expect(unsafe_code)]
            io_priority: unsafe { libc::syscall(libc::SYS_ioprio_get, IO_OF_PROCESS, 0) },
        })
    }
}

impl Confined {
    fn look() -> Option<Self> {
        let system_v = |kind| fs::read_to_string(format!("/proc/sysvipc/{kind}")).ok();
        let free = statvfs("/dev/shm").ok()?;
        let mode = stat("/dev/shm").ok()?.st_mode;
        let sockets = fs::read_to_string("/proc/net/sockstat").ok()?;
        Some(Self {
            system_v: [system_v("shm")?, system_v("msg")?, system_v("sem")?],
            shared_memory: (free.f_bfree, free.f_ffree, mode),
            sockets: count(&sockets, "sockets:", "used")?,
            waiting: count(&sockets, "TCP:", "tw")?,
        })
    }
}

/// Returns a number of /proc/net/sockstat. The two that are used here count this network namespace, others count the
/// machine.
fn count(text: &str, line: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|it| it.strip_prefix(line))?;
    let mut words = rest.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}
