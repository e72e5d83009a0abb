//! Processes as /proc describes them (proc(5)).

use std::fs;

use rustix::process::Pid;

/// The kernel's `PF_FORKNOEXEC`: the process was forked and has not started another program yet.
const HAS_NOT_EXECUTED: u64 = 0x40;
const KIB: u64 = 1024;

/// A live process.
pub(super) struct Process {
    /// A live thread of the process. The first thread may end before the others, and its files then report no memory.
    pub(super) thread: Pid,
    pub(super) status: ProcessStatus,
}

/// The status of a process (proc_pid_status(5)).
pub(super) struct ProcessStatus {
    pub(super) threads: u64,
    /// Memory of the process alone, including swap and page tables, in bytes.
    pub(super) own_bytes: u64,
    /// Shared memory in bytes, counted in full even if other processes share it.
    pub(super) shared_bytes: u64,
    /// Whether the process has memory. A process that is ending has freed all of it.
    has_memory: bool,
}

/// Returns the ids of all processes.
pub(super) fn all() -> Vec<Pid> {
    numbers("/proc")
}

impl Process {
    /// Reads a process. Returns `None` if it has ended.
    pub(super) fn look(id: Pid) -> Option<Self> {
        let status = ProcessStatus::read(id)?;
        if status.has_memory {
            return Some(Self { thread: id, status });
        }
        // The count includes the first thread, which has ended.
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

/// Returns a process's proportional share of memory in bytes: anonymous memory and shared memory. Returns `None` if
/// the process denies access or is gone.
pub(super) fn proportional_bytes(id: Pid) -> Option<(u64, u64)> {
    let text = read(id, "smaps_rollup")?;
    let bytes = |name| Some(number(&text, name)? * KIB);
    Some((bytes("Pss_Anon:")?, bytes("Pss_Shmem:")?))
}

/// Returns the parent, which created the process or adopted it.
pub(super) fn parent(id: Pid) -> Option<Pid> {
    Pid::from_raw(field(id, 1)?.parse().ok()?)
}

/// Returns whether the process still runs the program of its parent.
pub(super) fn has_not_executed(id: Pid) -> bool {
    let flags = field(id, 6).and_then(|flags| flags.parse().ok());
    flags.is_some_and(|flags: u64| flags & HAS_NOT_EXECUTED != 0)
}

/// Returns a field of proc_pid_stat(5), counted from after the name. The name can contain any character.
fn field(id: Pid, index: usize) -> Option<String> {
    let stat = read(id, "stat")?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(index).map(str::to_owned)
}

fn read(id: Pid, file: &str) -> Option<String> {
    // A process name can contain any byte.
    let bytes = fs::read(format!("/proc/{}/{file}", id.as_raw_nonzero())).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the number for `name` in a text that has one name and number per line.
pub(super) fn number(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Returns the entries of a directory that are process ids.
fn numbers(directory: &str) -> Vec<Pid> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .collect()
}
