//! Cgroups (cgroups(7), version 2), where a subtree of them was delegated to the worker.
//!
//! They keep limits on memory, processes and processor time better than anything else does. Where there is
//! none, rlimits and a watch keep them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::spec::{Ended, Limit, Limits};

const MOUNT: &str = "/sys/fs/cgroup";
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];
/// Processor time of a command in each 100 ms, in microseconds: two cores.
const CPU_MAX: &str = "200000 100000";
/// Tries to remove a cgroup whose last process is still on its way out.
const REMOVALS: u32 = 50;
const REMOVAL_PAUSE: Duration = Duration::from_millis(10);

/// The worker's own subtree.
#[derive(Clone)]
pub(super) struct Cgroups {
    root: Arc<Path>,
    next: Arc<AtomicU64>,
}

/// One command's.
pub(super) struct Cgroup {
    path: PathBuf,
}

impl Cgroups {
    /// Takes the worker's own cgroup over, if it may: processes live in the leaves only, so the worker moves
    /// to one.
    pub(super) fn take() -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        Self::take_at(&Path::new(MOUNT).join(own)).ok()
    }

    fn take_at(root: &Path) -> io::Result<Self> {
        let available = fs::read_to_string(root.join("cgroup.controllers"))?;
        let has = |controller| available.split_whitespace().any(|it| it == controller);
        if !CONTROLLERS.into_iter().all(has) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let leaf = root.join(format!("worker-{}", std::process::id()));
        fs::create_dir(&leaf)?;
        let moved = fs::write(leaf.join("cgroup.procs"), "0").and_then(|()| {
            let all = CONTROLLERS.map(|controller| format!("+{controller}"));
            fs::write(root.join("cgroup.subtree_control"), all.join(" "))
        });
        if moved.is_err() {
            // Others live here, too, so it is not ours to divide.
            let _ = fs::write(root.join("cgroup.procs"), "0");
            let _ = fs::remove_dir(&leaf);
        }
        moved?;
        Ok(Self {
            root: root.into(),
            next: Arc::default(),
        })
    }

    /// Makes one for a command.
    pub(super) fn create(&self, limits: &Limits) -> io::Result<Cgroup> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let name = format!("command-{}-{number}", std::process::id());
        let cgroup = Cgroup {
            path: self.root.join(name),
        };
        fs::create_dir(&cgroup.path)?;
        let set = || {
            cgroup.set("memory.max", &limits.memory_bytes.to_string())?;
            cgroup.set("memory.oom.group", "1")?;
            cgroup.set("pids.max", &limits.processes.to_string())?;
            cgroup.set("cpu.max", CPU_MAX)?;
            // A kernel without swap accounting has no such file.
            let _ = cgroup.set("memory.swap.max", "0");
            Ok(())
        };
        let set: io::Result<()> = set();
        set.inspect_err(|_| drop(fs::remove_dir(&cgroup.path)))?;
        Ok(cgroup)
    }
}

impl Cgroup {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Says what the cgroup knows better than the process that looked after the command.
    pub(super) fn complete(&self, ended: &mut Ended) {
        if let Some(micros) = self.value("cpu.stat", "usage_usec") {
            ended.cpu = Duration::from_micros(micros);
        }
        let peak = fs::read_to_string(self.path.join("memory.peak"));
        if let Some(peak) = peak.ok().and_then(|text| text.trim().parse().ok()) {
            ended.peak_memory_bytes = peak;
        }
        let reached = |file, name| self.value(file, name).is_some_and(|times| times > 0);
        if reached("memory.events", "oom_kill") {
            ended.limit = Some(Limit::Memory);
            ended.exit_code = None;
        } else if ended.limit.is_none() && reached("pids.events", "max") {
            ended.limit = Some(Limit::Processes);
        }
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

    /// A number of a file with a name and a number a line.
    fn value(&self, file: &str, name: &str) -> Option<u64> {
        let text = fs::read_to_string(self.path.join(file)).ok()?;
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(it, _)| *it == name)?.1.parse().ok()
    }
}
