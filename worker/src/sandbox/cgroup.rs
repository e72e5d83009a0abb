//! Cgroups (cgroups(7), version 2), where a subtree of them was delegated to the worker.
//!
//! They keep limits on memory, processes and processor time better than anything else does. Where there is
//! none, rlimits and a watch keep them.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::geteuid;

use super::spec::{Ended, Limit, Limits};

const MOUNT: &str = "/sys/fs/cgroup";
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];
/// Where the processes of the subtree live that are no command's: only the leaves of a subtree have any.
const LEAF: &str = "skillet";
/// Their share of busy processors: that of ten commands.
const LEAF_WEIGHT: &str = "1000";
/// How the names of commands' cgroups begin. The number of their worker follows.
const COMMAND: &str = "command-";
/// What systemd marks the cgroups with that it leaves to others: one name since version 251, one, for root, before.
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];
/// Rounds in which processes that are being made while others are moved are caught.
const MOVES: u32 = 10;
/// Processor time of a command in each 100 ms, in microseconds: two cores.
const CPU_MAX: &str = "200000 100000";
/// Tries to remove a cgroup whose last process is still on its way out: 10 s, for it may have much memory to give back.
const REMOVALS: u32 = 1000;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// The worker's own subtree.
#[derive(Clone)]
pub(super) struct Cgroups {
    root: Arc<Path>,
    next: Arc<AtomicU64>,
}

/// One sandbox's.
pub(super) struct Cgroup {
    path: PathBuf,
    before: Counted,
}

/// What it had counted when the last command ended.
#[derive(Default)]
struct Counted {
    cpu_micros: u64,
    peak_memory_bytes: u64,
    /// What was still held: files that the system may forget.
    memory_bytes: u64,
}

impl Cgroups {
    /// Takes the worker's own cgroup over, if it may.
    pub(super) fn take() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let own = Path::new(MOUNT).join(own);
        match Self::take_at(&own) {
            Ok(cgroups) => {
                tracing::info!(path = %cgroups.root.display(), "commands have cgroups");
                Some(cgroups)
            }
            Err(error) => {
                tracing::info!(path = %own.display(), %error, "commands have no cgroups");
                None
            }
        }
    }

    fn take_at(own: &Path) -> io::Result<Self> {
        let root = match own.parent() {
            // It was taken over before, by us or by a worker beside us.
            Some(parent) if own.ends_with(LEAF) => parent,
            _ => own,
        };
        if !is_ours(root)? {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        let available = fs::read_to_string(root.join("cgroup.controllers"))?;
        let has = |controller| available.split_whitespace().any(|it| it == controller);
        if !CONTROLLERS.into_iter().all(has) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        divide(root)?;
        sweep(root);
        Ok(Self {
            root: root.into(),
            next: Arc::default(),
        })
    }

    /// Makes one for a sandbox.
    pub(super) fn create(&self, limits: &Limits) -> io::Result<Cgroup> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("{COMMAND}{}-{number}", std::process::id());
        let cgroup = Cgroup {
            path: self.root.join(name),
            before: Counted::default(),
        };
        fs::create_dir(&cgroup.path)?;
        let limit = || {
            cgroup.set("memory.max", &limits.memory_bytes.to_string())?;
            cgroup.set("memory.oom.group", "1")?;
            cgroup.set("pids.max", &limits.processes.to_string())?;
            cgroup.set("cpu.max", CPU_MAX)?;
            // A kernel without swap accounting has no such file.
            let _ = cgroup.set("memory.swap.max", "0");
            Ok(())
        };
        let limited: io::Result<()> = limit();
        limited.map(|()| cgroup)
    }
}

/// Whether nobody else manages that cgroup, and we may. Who is root may write to all of them, which says nothing.
fn is_ours(root: &Path) -> io::Result<bool> {
    // A container's own cgroup is the topmost that it sees. That of a machine has no type.
    if root == Path::new(MOUNT) {
        return Ok(root.join("cgroup.type").exists());
    }
    let is_marked = |name: &&str| {
        let mut value = [0; 1];
        let length = rustix::fs::getxattr(root, *name, &mut value);
        length.is_ok() && value == *b"1"
    };
    if DELEGATED.iter().any(is_marked) {
        return Ok(true);
    }
    // There is systemd without marks, and there are other managers. They give a cgroup its user as the owner; but
    // a desktop does that, too, with those of the programs in it.
    let user = geteuid();
    let is_given = !user.is_root() && fs::metadata(root)?.uid() == user.as_raw();
    let own = std::process::id().to_string();
    let is_alone = processes(root)?.iter().all(|process| *process == own);
    Ok(is_given && is_alone)
}

/// Has the kernel keep limits in the cgroups below that one. It does so only if all processes are below it, too.
fn divide(root: &Path) -> io::Result<()> {
    let leaf = root.join(LEAF);
    match fs::create_dir(&leaf) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let enable = || {
        // Not only ours: a database that we brought along, or the parent that waits for us.
        move_all(root, &leaf)?;
        let all = CONTROLLERS.map(|controller| format!("+{controller}"));
        fs::write(root.join("cgroup.subtree_control"), all.join(" "))
    };
    let mut enabled = enable();
    for _ in 1..MOVES {
        if enabled.is_ok() {
            break;
        }
        enabled = enable();
    }
    if enabled.is_ok() {
        // However many commands there are, the worker must not miss a heartbeat.
        let _ = fs::write(leaf.join("cpu.weight"), LEAF_WEIGHT);
    } else {
        let _ = move_all(&leaf, root);
        let _ = fs::remove_dir(&leaf);
    }
    enabled
}

fn move_all(from: &Path, to: &Path) -> io::Result<()> {
    let target = to.join("cgroup.procs");
    for process in processes(from)? {
        match fs::write(&target, process) {
            // It has ended.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            moved => moved?,
        }
    }
    Ok(())
}

/// The numbers of those that are in it, and in none below it.
fn processes(cgroup: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(cgroup.join("cgroup.procs"))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Removes what workers left that were killed.
fn sweep(root: &Path) {
    let Ok(entries) = fs::read_dir(root) else {
        return;
    };
    // Of a worker that had our number, too; we have not begun. One that lives removes its own.
    let own = std::process::id().to_string();
    let is_left = |worker: &str| worker == own || !Path::new("/proc").join(worker).exists();
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let worker = name.to_str().and_then(|name| {
            let (worker, _) = name.strip_prefix(COMMAND)?.split_once('-')?;
            Some(worker)
        });
        if worker.is_some_and(is_left) {
            let _ = fs::write(entry.path().join("cgroup.kill"), "1");
            let _ = fs::remove_dir(entry.path());
        }
    }
}

impl Cgroup {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Says what the cgroup knows better than the process that looked after the command.
    pub(super) fn complete(&mut self, ended: &mut Ended) {
        if let Some(micros) = self.value("cpu.stat", "usage_usec") {
            let before = std::mem::replace(&mut self.before.cpu_micros, micros);
            ended.cpu = Duration::from_micros(micros.saturating_sub(before));
        }
        if let Some(peak) = self.number("memory.peak") {
            // The highest of all commands until now. If it was an earlier one's, what is told of this one stays.
            if peak > self.before.peak_memory_bytes {
                ended.peak_memory_bytes = peak.saturating_sub(self.before.memory_bytes);
                self.before.peak_memory_bytes = peak;
            }
        }
        self.before.memory_bytes = self.number("memory.current").unwrap_or(0);
        let reached = |file, name| self.value(file, name).is_some_and(|times| times > 0);
        if reached("memory.events", "oom_kill") {
            ended.limit = Some(Limit::Memory);
            ended.exit_code = None;
        } else if ended.limit.is_none() && reached("pids.events", "max") {
            ended.limit = Some(Limit::Processes);
        }
    }

    /// How a command ended that the kernel killed with all its processes, also the one that would have told.
    pub(super) fn killed(&mut self) -> Option<Ended> {
        let mut ended = Ended {
            exit_code: None,
            limit: None,
            cpu: Duration::ZERO,
            peak_memory_bytes: 0,
        };
        self.complete(&mut ended);
        (ended.limit == Some(Limit::Memory)).then_some(ended)
    }

    /// Kills whatever is left, and removes it.
    pub(super) async fn remove(self) {
        let _ = self.set("cgroup.kill", "1");
        for _ in 0..REMOVALS {
            match fs::remove_dir(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                    tokio::time::sleep(REMOVAL_PAUSE).await;
                }
                _ => return,
            }
        }
        tracing::error!(path = %self.path.display(), "a cgroup could not be removed");
    }

    fn set(&self, file: &str, value: &str) -> io::Result<()> {
        fs::write(self.path.join(file), value)
    }

    /// The number that a file has.
    fn number(&self, file: &str) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        text.trim().parse().ok()
    }

    /// A number of a file with a name and a number a line.
    fn value(&self, file: &str, name: &str) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(it, _)| *it == name)?.1.parse().ok()
    }
}

impl Drop for Cgroup {
    /// For a sandbox that never began: no process is in it.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_a_cgroup_counted_a_command_is_told_its_own_part() {
        let home = tempfile::tempdir().unwrap();
        let mut cgroup = Cgroup {
            path: home.path().to_owned(),
            before: Counted::default(),
        };
        let mut told = |micros: u64, peak: u64, held: u64| {
            let write = |file: &str, text: String| fs::write(home.path().join(file), text).unwrap();
            write("cpu.stat", format!("usage_usec {micros}\nuser_usec 1\n"));
            write("memory.peak", format!("{peak}\n"));
            write("memory.current", format!("{held}\n"));
            let mut ended = Ended {
                exit_code: Some(0),
                limit: None,
                cpu: Duration::ZERO,
                peak_memory_bytes: 7,
            };
            cgroup.complete(&mut ended);
            (ended.cpu.as_micros(), ended.peak_memory_bytes)
        };
        assert_eq!(told(1000, 500, 40), (1000, 500));
        // It had less than the first, and how much only the one that looked after it knows.
        assert_eq!(told(1300, 500, 60), (300, 7));
        assert_eq!(told(1310, 900, 60), (10, 840));
    }
}
