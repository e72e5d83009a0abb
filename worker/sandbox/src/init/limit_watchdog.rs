//! The watchdog of limits that no system call enforces: the memory of all processes together, and the disk.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::process::Pid;
use shared::sandbox::Isolation;

use super::disk::Disk;
use super::memory::{self, Floor};
use super::process::Process;
use super::process_set::ProcessSet;
use super::unlinked_usage;
use crate::spec::{DiskCount, Limit, SandboxLimits, Setup};

/// The interval at which a command is checked.
pub(super) const INTERVAL: Duration = Duration::from_millis(250);
/// The interval when the machine may soon be out of memory.
const SHORT_INTERVAL: Duration = Duration::from_millis(100);
/// The supervisor's threads count towards the limit of the command: the first one and the watchdog.
const OWN_THREADS: u64 = 2;

/// The checks of a command's resource usage. They kill the command at a limit.
pub(super) struct LimitWatchdog {
    disk: Disk,
    limits: SandboxLimits,
    memory_floor_bytes: u64,
    process_set: ProcessSet,
    isolation: Isolation,
    /// Whether a cgroup enforces the limit on memory.
    has_cgroup: bool,
    /// The number of kills in a cgroup of version 1, where the kernel kills one process and not all.
    oom_control: Option<File>,
    reached: OnceLock<Limit>,
    peak_memory_bytes: AtomicU64,
}

/// Opens the file in which the kernel counts kills in a cgroup of version 1. The file is not visible later.
pub(super) fn oom_control(setup: &Setup) -> Option<File> {
    let open = |cgroup: &std::path::PathBuf| File::open(cgroup.join("memory.oom_control")).ok();
    setup.cgroups.iter().find_map(open)
}

impl LimitWatchdog {
    /// Creates the watchdog for the job's directories.
    pub(super) fn new(
        job: &OwnedFd,
        setup: &Setup,
        process_set: ProcessSet,
        oom_control: Option<File>,
    ) -> io::Result<Self> {
        Ok(Self {
            disk: Disk::new(job, setup.limits, process_set)?,
            limits: setup.limits,
            memory_floor_bytes: setup.memory_floor_bytes,
            process_set,
            isolation: setup.isolation,
            has_cgroup: !setup.cgroups.is_empty(),
            oom_control,
            reached: OnceLock::new(),
            peak_memory_bytes: AtomicU64::new(0),
        })
    }

    /// Starts from the known disk usage of the job before a command.
    pub(super) fn begin(&self, disk: Option<DiskCount>) {
        self.disk.begin(disk);
    }

    /// The known disk usage of the job, also after a command.
    pub(super) fn disk(&self) -> Option<DiskCount> {
        self.disk.last()
    }

    /// Watches from a separate thread until this process ends. `shell` is the command's first process.
    pub(super) fn start(self: Arc<Self>, shell: Pid) -> io::Result<()> {
        thread::Builder::new().spawn(move || {
            let mut floor = Floor::new(self.memory_floor_bytes);
            loop {
                match self.look(shell, &mut floor) {
                    // The command cannot start more processes, and its programs see that error themselves.
                    Some(limit) if !self.is_deadly(limit) => drop(self.reached.set(limit)),
                    Some(limit) => {
                        let _ = self.reached.set(limit);
                        self.process_set.kill();
                    }
                    None => {}
                }
                thread::sleep(if floor.is_near() {
                    SHORT_INTERVAL
                } else {
                    INTERVAL
                });
            }
        })?;
        Ok(())
    }

    /// The first limit that was reached.
    pub(super) fn limit(&self) -> Option<Limit> {
        self.reached.get().copied()
    }

    /// Returns the first limit that an ended command reached, even if it ended before the first check.
    pub(super) fn limit_at_end(&self) -> Option<Limit> {
        self.limit().or_else(|| self.disk.look_at_end())
    }

    /// Returns whether the command is killed at this limit. At other limits the program continues, with an error.
    pub(super) fn is_deadly(&self, limit: Limit) -> bool {
        match limit {
            Limit::FileSize => false,
            // Only a namespace has its own count of processes.
            Limit::Processes => self.process_set != ProcessSet::Namespace,
            _ => true,
        }
    }

    /// The highest memory use of all processes together, of all checks.
    pub(super) fn peak_memory_bytes(&self) -> u64 {
        self.peak_memory_bytes.load(Ordering::Relaxed)
    }

    fn look(&self, shell: Pid, floor: &mut Floor) -> Option<Limit> {
        let members = self.process_set.members();
        let processes: Vec<_> = members.into_iter().filter_map(Process::look).collect();
        let unlinked = unlinked_usage::measure(&processes, self.process_set);
        let held = memory::held_bytes(&processes, &unlinked, self.limits.memory_bytes);
        self.peak_memory_bytes.fetch_max(held, Ordering::Relaxed);
        let is_over = if self.has_cgroup {
            self.has_killed()
        } else {
            held > self.limits.memory_bytes
        };
        if is_over {
            return Some(Limit::Memory);
        }
        if floor.claims(held, self.limits.memory_bytes) {
            return Some(Limit::HostMemory);
        }
        let hides = |process: &Process| unlinked_usage::is_hidden(process, shell);
        if self.isolation != Isolation::Off && processes.iter().any(hides) {
            return Some(Limit::Hidden);
        }
        let threads: u64 = processes.iter().map(|it| it.status.threads).sum();
        if threads + OWN_THREADS >= self.limits.processes {
            return Some(Limit::Processes);
        }
        self.disk.look(unlinked.disk_bytes)
    }

    /// Returns whether the kernel killed a process in the cgroup for lack of memory.
    fn has_killed(&self) -> bool {
        let mut text = [0; 256];
        let read = |file: &File| file.read_at(&mut text, 0).ok();
        let length = self.oom_control.as_ref().and_then(read).unwrap_or(0);
        let text = String::from_utf8_lossy(&text[..length]);
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.is_some_and(|count| count != "0")
    }
}
