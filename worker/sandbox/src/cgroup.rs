//! Cgroups (cgroups(7)) of commands: version 2 if a subtree was delegated to the worker, else version 1 if the worker
//! can create cgroups in its own.
//!
//! They enforce limits on memory and processes best. Without them, rlimits and the limit watchdog do.

mod v1;
mod v2;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use super::spec::{CommandEnd, Limit, SandboxLimits};

/// The prefix of the cgroup names of commands. The worker's process id follows.
const COMMAND: &str = "command-";
/// Processes and threads that a cgroup allows beyond the rlimit of the command. They leave room for the processes that
/// supervise the command.
const SPARE_PROCESSES: u64 = 96;
/// Attempts to remove a cgroup whose last process is still exiting: 10 s, because it may have much memory to free.
const REMOVALS: u32 = 1000;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// The parent cgroups of a worker's sandboxes.
#[derive(Clone)]
pub(super) struct Cgroups {
    version: Version,
    parents: Arc<CgroupDirectories>,
    next: Arc<AtomicU64>,
}

/// The cgroup of one sandbox.
pub(super) struct Cgroup {
    version: Version,
    directories: CgroupDirectories,
    before: Counted,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    V1,
    V2,
}

/// The path of a cgroup for each controller. With version 2 both paths are the same.
#[derive(Clone)]
struct CgroupDirectories {
    memory: PathBuf,
    pids: PathBuf,
}

/// The counts when the last command ended.
#[derive(Default)]
struct Counted {
    cpu_micros: u64,
    peak_memory_bytes: u64,
    /// Memory that was still charged: cached files that the kernel can drop.
    memory_bytes: u64,
}

impl Cgroups {
    /// Returns the parent cgroups of this worker, if it can create any.
    pub(super) fn take() -> Option<Self> {
        let taken = match v2::take() {
            Ok(root) => Ok((Version::V2, root)),
            Err(error) => {
                tracing::debug!(%error, "cgroup v2 is not available");
                v1::take().map(|parents| (Version::V1, parents))
            }
        };
        let (version, parents) = taken
            .inspect_err(|error| tracing::debug!(%error, "cgroup v1 is not available"))
            .ok()?;
        for parent in parents.all() {
            remove_left_behind(parent);
        }
        tracing::info!(path = %parents.memory.display(), "commands have cgroups");
        Some(Self {
            version,
            parents: Arc::new(parents),
            next: Arc::default(),
        })
    }

    /// Creates the cgroup of a sandbox.
    pub(super) fn create(&self, limits: &SandboxLimits) -> io::Result<Cgroup> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{COMMAND}{}-{number}", std::process::id());
        let cgroup = Cgroup {
            version: self.version,
            directories: self.parents.child(&name),
            before: Counted::default(),
        };
        for directory in cgroup.directories.all() {
            fs::create_dir(directory)?;
        }
        match self.version {
            Version::V1 => v1::limit(&cgroup.directories, limits)?,
            Version::V2 => v2::limit(&cgroup.directories, limits)?,
        }
        Ok(cgroup)
    }
}

impl CgroupDirectories {
    fn child(&self, name: &str) -> Self {
        Self {
            memory: self.memory.join(name),
            pids: self.pids.join(name),
        }
    }

    /// Returns each directory once.
    fn all(&self) -> impl Iterator<Item = &Path> {
        let pids = (self.pids != self.memory).then_some(&*self.pids);
        std::iter::once(&*self.memory).chain(pids)
    }

    /// Kills all processes in the cgroup.
    fn kill(&self) {
        // Older kernels and version 1 have no `cgroup.kill`, so the processes are killed one by one.
        if fs::write(self.memory.join("cgroup.kill"), "1").is_ok() {
            return;
        }
        for directory in self.all() {
            let processes = processes(directory).unwrap_or_default();
            let numbers = processes.iter().filter_map(|process| process.parse().ok());
            for process in numbers.filter_map(Pid::from_raw) {
                // The process may have exited already.
                let _ = kill_process(process, Signal::KILL);
            }
        }
    }
}

/// Returns the ids of the processes in this cgroup, without those in the cgroups below it.
fn processes(cgroup: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(cgroup.join("cgroup.procs"))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Removes the cgroups of workers that were killed.
fn remove_left_behind(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else {
        return;
    };
    // A cgroup with the id of this process is from an earlier worker, because this one has created none yet. A running
    // worker removes its own cgroups.
    let own = std::process::id().to_string();
    let is_left = |worker: &str| worker == own || !Path::new("/proc").join(worker).exists();
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let worker = name.to_str().and_then(|name| {
            let (worker, _) = name.strip_prefix(COMMAND)?.split_once('-')?;
            Some(worker)
        });
        if worker.is_some_and(is_left) {
            let left = CgroupDirectories {
                memory: entry.path(),
                pids: entry.path(),
            };
            left.kill();
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl Cgroup {
    /// The directories in which a process writes its id to `cgroup.procs` to join.
    pub(super) fn directories(&self) -> Vec<PathBuf> {
        self.directories.all().map(Path::to_owned).collect()
    }

    /// Fills in the values that the cgroup knows better than the supervisor of the command.
    pub(super) fn complete(&mut self, ended: &mut CommandEnd) {
        let memory = &self.directories.memory;
        // With version 1 this file is missing here, because the CPU controller has a separate hierarchy.
        if let Some(micros) = value(memory, "cpu.stat", "usage_usec") {
            let before = std::mem::replace(&mut self.before.cpu_micros, micros);
            ended.cpu = Duration::from_micros(micros.saturating_sub(before));
        }
        let (peak, current, events) = match self.version {
            Version::V1 => (
                "memory.max_usage_in_bytes",
                "memory.usage_in_bytes",
                "memory.oom_control",
            ),
            Version::V2 => ("memory.peak", "memory.current", "memory.events"),
        };
        if let Some(peak) = number(memory, peak) {
            // The peak covers all commands so far. If an earlier command set it, the reported value stays.
            if peak > self.before.peak_memory_bytes {
                ended.peak_memory_bytes = peak.saturating_sub(self.before.memory_bytes);
                self.before.peak_memory_bytes = peak;
            }
        }
        self.before.memory_bytes = number(memory, current).unwrap_or(0);
        if value(memory, events, "oom_kill").is_some_and(|times| times > 0) {
            ended.limit = Some(Limit::Memory);
            ended.exit_code = None;
        }
    }

    /// Returns the end of a command that the kernel killed with all its processes, including the supervisor that would
    /// have reported it.
    pub(super) fn killed(&mut self) -> Option<CommandEnd> {
        let mut ended = CommandEnd {
            exit_code: None,
            limit: None,
            cpu: Duration::ZERO,
            peak_memory_bytes: 0,
        };
        self.complete(&mut ended);
        (ended.limit == Some(Limit::Memory)).then_some(ended)
    }

    /// Kills all remaining processes and removes the cgroup.
    pub(super) async fn remove(self) {
        for _ in 0..REMOVALS {
            self.directories.kill();
            let is_busy = |directory: &Path| {
                fs::remove_dir(directory)
                    .is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
            };
            // Tries all directories, even if the first one is busy.
            if self.directories.all().filter(|it| is_busy(it)).count() == 0 {
                return;
            }
            tokio::time::sleep(REMOVAL_PAUSE).await;
        }
        let path = self.directories.memory.display();
        tracing::error!(%path, "a cgroup could not be removed");
    }
}

impl Drop for Cgroup {
    /// Removes the cgroup of a sandbox that never started. It contains no process.
    fn drop(&mut self) {
        for directory in self.directories.all() {
            let _ = fs::remove_dir(directory);
        }
    }
}

/// Returns the number in a file that contains only this number.
fn number(directory: &Path, file: &str) -> Option<u64> {
    let text = fs::read_to_string(directory.join(file)).ok()?;
    text.trim().parse().ok()
}

/// Returns the number for `name` in a file that has one name and number per line.
fn value(directory: &Path, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(directory.join(file)).ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(it, _)| *it == name)?.1.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    use super::*;

    #[tokio::test]
    async fn what_takes_more_memory_than_its_cgroup_of_version_1_allows_is_killed_and_that_is_told()
    {
        // Version 2 is not tested here, because it would move the test process to another cgroup.
        let Ok(parents) = v1::take() else {
            return;
        };
        let cgroups = Cgroups {
            version: Version::V1,
            parents: Arc::new(parents),
            next: Arc::default(),
        };
        let limits = SandboxLimits {
            memory_bytes: 64 * 1024 * 1024,
            ..SandboxLimits::DEFAULT
        };
        let mut cgroup = cgroups.create(&limits).unwrap();
        let [memory, pids] = [0, 1].map(|index| cgroup.directories()[index].clone());
        // `tail` buffers its input until a line ends, and /dev/zero has no line end.
        let script = "for i in \"$@\"; do echo 0 > $i/cgroup.procs; done; exec tail -n 1";
        let zeros = std::fs::File::open("/dev/zero").unwrap();
        let ended = Command::new("sh")
            .args(["-c", script, "sh"])
            .args([&memory, &pids])
            .stdin(zeros)
            .status()
            .unwrap();
        assert_eq!(ended.signal(), Some(libc::SIGKILL));
        let told = cgroup.killed().unwrap();
        assert_eq!((told.limit, told.exit_code), (Some(Limit::Memory), None));
        assert!((60 << 20..=64 << 20).contains(&told.peak_memory_bytes));
        cgroup.remove().await;
        assert!(!memory.exists() && !pids.exists());
    }

    #[test]
    fn of_what_a_cgroup_counted_a_command_is_told_its_own_part() {
        let home = tempfile::tempdir().unwrap();
        let mut cgroup = Cgroup {
            version: Version::V2,
            directories: CgroupDirectories {
                memory: home.path().to_owned(),
                pids: home.path().to_owned(),
            },
            before: Counted::default(),
        };
        let mut told = |micros: u64, peak: u64, held: u64| {
            let write = |file: &str, text: String| fs::write(home.path().join(file), text).unwrap();
            write("cpu.stat", format!("usage_usec {micros}\nuser_usec 1\n"));
            write("memory.peak", format!("{peak}\n"));
            write("memory.current", format!("{held}\n"));
            let mut ended = CommandEnd {
                exit_code: Some(0),
                limit: None,
                cpu: Duration::ZERO,
                peak_memory_bytes: 7,
            };
            cgroup.complete(&mut ended);
            (ended.cpu.as_micros(), ended.peak_memory_bytes)
        };
        assert_eq!(told(1000, 500, 40), (1000, 500));
        // The second command used less memory than the first, so only the supervisor knows its peak.
        assert_eq!(told(1300, 500, 60), (300, 7));
        assert_eq!(told(1310, 900, 60), (10, 840));
    }
}
