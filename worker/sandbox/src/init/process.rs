//! Processes as /proc describes them (proc(5)).

use std::fs;

use rustix::process::Pid;

/// `PF_FORKNOEXEC` of the kernel: forked, and no other program yet.
const HAS_NOT_EXECUTED: u64 = 0x40;
const KIB: u64 = 1024;

/// A process that lives.
pub(super) struct Process {
    /// A thread of it that lives. The first may have ended before the others; its files then say that the process
    /// has nothing.
    pub(super) thread: Pid,
    pub(super) status: ProcessStatus,
}

/// The status of a process (proc_pid_status(5)).
pub(super) struct ProcessStatus {
    pub(super) threads: u64,
    /// Its own, also what is swapped out, and with the tables that map it, in bytes.
    pub(super) own_bytes: u64,
    /// Shared memory, counted whole even if other processes have it too.
    pub(super) shared_bytes: u64,
    /// One that is ending has given all of it back.
    has_memory: bool,
}

/// The numbers of all.
pub(super) fn all() -> Vec<Pid> {
    numbers("/proc")
}

impl Process {
    /// Looks at one; `None` if it has ended.
    pub(super) fn look(id: Pid) -> Option<Self> {
        let status = ProcessStatus::read(id)?;
        if status.has_memory {
            return Some(Self { thread: id, status });
        }
        // The count has the first, which has ended.
        if status.threads < 2 {
            return None;
        }
        let tasks = numbers(&format!("/proc/{}/task", id.as_raw_nonzero()));
        tasks.into_iter().find_map(|thread| {
            let status = ProcessStatus::read(thread)?;
            status.has_memory.then_some(Self { thread, status })
        })
    }
}

impl ProcessStatus {
    fn read(id: Pid) -> Option<Self> {
        let text = read(id, "status")?;
        let bytes = |name: &str| number(&text, name).map(|kib| kib * KIB);
        let own = ["RssAnon:", "VmSwap:", "VmPTE:"];
        Some(Self {
            threads: number(&text, "Threads:").unwrap_or(0),
            own_bytes: own.into_iter().filter_map(bytes).sum(),
            shared_bytes: bytes("RssShmem:").unwrap_or(0),
            has_memory: bytes("VmSize:").is_some(),
        })
    }
}

/// A process's part of the memory that it has with others, in bytes: of its own, and of shared memory. `None` if it
/// does not let itself be looked at, or is gone.
pub(super) fn proportional_bytes(id: Pid) -> Option<(u64, u64)> {
    let text = read(id, "smaps_rollup")?;
    let bytes = |name| Some(number(&text, name)? * KIB);
    Some((bytes("Pss_Anon:")?, bytes("Pss_Shmem:")?))
}

/// The one that made it, or took it over.
pub(super) fn parent(id: Pid) -> Option<Pid> {
    Pid::from_raw(field(id, 1)?.parse().ok()?)
}

/// Whether it runs no program of its own yet, but still that of its parent.
pub(super) fn has_not_executed(id: Pid) -> bool {
    let flags = field(id, 6).and_then(|flags| flags.parse().ok());
    flags.is_some_and(|flags: u64| flags & HAS_NOT_EXECUTED != 0)
}

/// A field of proc_pid_stat(5), counted from behind the name, which may hold anything.
fn field(id: Pid, index: usize) -> Option<String> {
    let stat = read(id, "stat")?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(index).map(str::to_owned)
}

fn read(id: Pid, file: &str) -> Option<String> {
    // A name may be of any bytes.
    let bytes = fs::read(format!("/proc/{}/{file}", id.as_raw_nonzero())).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// A number of a file with a name and a number a line.
pub(super) fn number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// The entries of a directory that are numbers.
fn numbers(directory: &str) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .collect()
}
