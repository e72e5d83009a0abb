//! The check whether a sandbox can be used again: everything that can remain after its processes.
//!
//! All else that they had is gone when the last of them has been waited for: memory, open files and those without a
//! name, locks, timers. Mounts, the host name and sysctls they cannot change, without capabilities; keys and the
//! limits of others are denied by the filter of system calls, POSIX message queues by a limit of zero. Files in the
//! job's own directories are meant to stay.

use std::fs;
use std::io;

use rustix::fs::{stat, statvfs};
use rustix::thread::{CpuSet, sched_getaffinity};

use super::process_set::ProcessSet;

/// All of that, as it is at some time. A sandbox that is as it was before its first command is as good as new.
#[derive(PartialEq, Eq)]
pub(super) struct ReuseCheck {
    inherited: Inherited,
    /// Without namespaces these are the machine's, and no new sandbox would be without them.
    confined: Option<Confined>,
}

/// The properties of this process that the last command could change, being of the same user, and the next inherits.
#[derive(PartialEq, Eq)]
struct Inherited {
    processors: CpuSet,
    /// Policy and priority, as sched_getattr(2) fills it in.
    scheduling: [u8; SCHEDULING_BYTES],
    io_priority: i64,
}

/// The content of the namespaces.
#[derive(PartialEq, Eq)]
struct Confined {
    /// Shared memory, queues and semaphores of System V (proc_sysvipc(5)).
    system_v: [String; 3],
    /// Of /dev/shm: free blocks, free names, and the mode.
    shared_memory: (u64, u64, u32),
    /// Those that exist, be it with no process: a connection that nobody accepted, what was sent to it, and sockets
    /// that were on their way through each other.
    sockets: u64,
    /// Connections that are over, whose ports are taken for a minute.
    waiting: u64,
}

/// More than any kernel fills.
const SCHEDULING_BYTES: usize = 128;
/// ioprio_set(2), `IOPRIO_WHO_PROCESS`.
const IO_OF_PROCESS: libc::c_int = 1;

impl ReuseCheck {
    /// Looks; `None` if something cannot be seen.
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
        // SAFETY: the kernel writes no more than it is told that there is.
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
            // SAFETY: it takes two numbers.
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

/// A number of /proc/net/sockstat, which is of this network namespace for these two and of the machine for others.
fn count(text: &str, line: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|it| it.strip_prefix(line))?;
    let mut words = rest.split_whitespace();
    words.find(|word| *word == name)?;
    words.next()?.parse().ok()
}
