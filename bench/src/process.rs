//! Memory and CPU time of processes.

use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

/// The unit in which the kernel reports CPU time, which is the same for all programs on all machines.
const TICKS_PER_SECOND: f64 = 100.0;

/// A process of the service. It runs this program again, and is killed when dropped.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    pub(crate) fn start(
        arguments: &[&str],
        environment: &[(&str, String)],
        home: &Path,
    ) -> anyhow::Result<Self> {
        let child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (*name, value)))
            .env("SKILLET_DATA_DIR", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self { child })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn first_line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().context("piped")?).read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    /// Sends SIGKILL and waits for the end.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Sends SIGTERM.
    pub(crate) fn terminate(&self) -> anyhow::Result<()> {
        Ok(kill_process(Pid::from_child(&self.child), Signal::TERM)?)
    }

    pub(crate) fn has_ended(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_some())
    }

    /// Returns the resident memory.
    pub(crate) fn rss_mib(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .context("no VmRSS")?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    }

    /// Returns the memory of the process and all its descendants, with shared pages counted proportionally.
    pub(crate) fn pss_mib_of_tree(&self) -> anyhow::Result<f64> {
        let tree = tree(self.id())?;
        let kib = tree.keys().filter_map(|id| {
            // A process that has ended since has no memory.
            let rollup = std::fs::read_to_string(format!("/proc/{id}/smaps_rollup")).ok()?;
            let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"))?;
            line.trim().trim_end_matches(" kB").parse::<f64>().ok()
        });
        Ok(kib.sum::<f64>() / 1024.0)
    }

    /// Returns the number of descendants.
    pub(crate) fn below(&self) -> anyhow::Result<usize> {
        Ok(tree(self.id())?.len() - 1)
    }

    /// Returns the number of threads.
    pub(crate) fn threads(&self) -> anyhow::Result<usize> {
        Ok(std::fs::read_dir(format!("/proc/{}/task", self.id()))?.count())
    }

    /// Returns the CPU time of the process and all its descendants.
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        cpu_seconds_of_tree(self.id())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.kill();
    }
}

/// Returns the CPU time of this process, without its children.
pub(crate) fn own_cpu_seconds() -> anyhow::Result<f64> {
    let stat =
        Stat::read(std::process::id()).context("cannot read the CPU time of this process")?;
    Ok(stat.own_ticks / TICKS_PER_SECOND)
}

/// Returns the CPU time of a process and all its descendants, including those that have ended.
pub(crate) fn cpu_seconds_of_tree(root: u32) -> anyhow::Result<f64> {
    let tree = tree(root)?;
    let ticks: f64 = tree
        .values()
        .map(|stat| stat.own_ticks + stat.waited_ticks)
        .sum();
    Ok(ticks / TICKS_PER_SECOND)
}

/// Returns a process and all its descendants.
fn tree(root: u32) -> anyhow::Result<HashMap<u32, Stat>> {
    let mut all = HashMap::new();
    for entry in std::fs::read_dir("/proc")? {
        let id = entry?.file_name().to_string_lossy().parse();
        // A process that has ended since counts with its parent.
        if let Some((id, stat)) = id.ok().and_then(|id| Some((id, Stat::read(id)?))) {
            all.insert(id, stat);
        }
    }
    let parents: HashMap<_, _> = all.iter().map(|(id, stat)| (*id, stat.parent)).collect();
    let is_below = |mut id: u32| {
        while id != root {
            match parents.get(&id) {
                Some(parent) if *parent != 0 => id = *parent,
                _ => return false,
            }
        }
        true
    };
    all.retain(|id, _| is_below(*id));
    Ok(all)
}

/// Returns the process that started this one.
pub(crate) fn parent_of(id: u32) -> anyhow::Result<u32> {
    Ok(Stat::read(id).context("it has ended")?.parent)
}

/// The fields of `/proc/ID/stat` that are needed here.
struct Stat {
    parent: u32,
    own_ticks: f64,
    /// CPU time of children that have ended.
    waited_ticks: f64,
}

impl Stat {
    fn read(id: u32) -> Option<Self> {
        let line = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The name can contain any characters, including parentheses.
        let (_, rest) = line.rsplit_once(") ")?;
        let fields: Vec<_> = rest.split(' ').collect();
        let ticks = |place: usize| fields.get(place)?.parse::<f64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own_ticks: ticks(11)? + ticks(12)?,
            waited_ticks: ticks(13)? + ticks(14)?,
        })
    }
}
