//! Limits that no system call keeps for us: the memory of all processes together, and the disk.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, fstatvfs, openat};
use rustix::process::Pid;

use super::family::Family;
use super::tree::{self, TreeUse};
use super::unnamed::{self, Unnamed};
use crate::sandbox::spec::{Limit, Limits, Setup};

/// How often memory and processes are looked at, and at most the disk.
pub(super) const INTERVAL: Duration = Duration::from_millis(250);
/// The threads that look after a command count as its own: the first, and the one that watches.
const OWN_THREADS: u64 = 2;
/// Looking at the disk takes at most one part in this many of the time.
const DISK_SHARE: u32 = 5;
/// With less than this the disk that all jobs share counts as full, in bytes.
const FREE_FLOOR: u64 = 512 * 1024 * 1024;

/// Looks at a command's use of the machine, and kills it at a limit.
pub(super) struct Watch {
    directories: [OwnedFd; 2],
    limits: Limits,
    family: Family,
    /// A cgroup keeps the limit on memory better.
    has_cgroup: bool,
    reached: OnceLock<Limit>,
    peak_memory_bytes: AtomicU64,
}

impl Watch {
    /// Over the job's directories.
    pub(super) fn new(job: &OwnedFd, setup: &Setup, family: Family) -> io::Result<Self> {
        let open = |place: &str| {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(job, place, flags, Mode::empty())
        };
        // Inside, `..` leads no further than the command itself gets.
        let places = match family {
            Family::Namespace => ["/workspace", "/tmp"],
            Family::Descendants => ["workspace", "tmp"],
        };
        Ok(Self {
            directories: [open(places[0])?, open(places[1])?],
            limits: setup.limits,
            family,
            has_cgroup: setup.cgroup.is_some(),
            reached: OnceLock::new(),
            peak_memory_bytes: AtomicU64::new(0),
        })
    }

    /// Watches from a thread of its own, until this process ends.
    pub(super) fn start(self: Arc<Self>) -> io::Result<()> {
        thread::Builder::new().spawn(move || {
            let mut disk_at = Instant::now();
            loop {
                let members = self.family.members();
                let unnamed = unnamed::measure(&members, self.family);
                let limit = self.check_processes(&members, &unnamed).or_else(|| {
                    let begun_at = Instant::now();
                    if begun_at < disk_at {
                        return None;
                    }
                    let limit = self.check_disk(&unnamed);
                    disk_at = Instant::now() + begun_at.elapsed() * DISK_SHARE;
                    limit
                });
                match limit {
                    // New ones cannot be made, which programs notice by themselves.
                    Some(Limit::Processes) => drop(self.reached.set(Limit::Processes)),
                    Some(limit) => {
                        let _ = self.reached.set(limit);
                        self.family.kill();
                    }
                    None => {}
                }
                thread::sleep(INTERVAL);
            }
        })?;
        Ok(())
    }

    /// The first limit that was reached.
    pub(super) fn limit(&self) -> Option<Limit> {
        self.reached.get().copied()
    }

    /// The most that all processes had at once, whenever it was looked at.
    pub(super) fn peak_memory_bytes(&self) -> u64 {
        self.peak_memory_bytes.load(Ordering::Relaxed)
    }

    fn check_processes(&self, members: &[Pid], unnamed: &Unnamed) -> Option<Limit> {
        let memory = self.memory_bytes(members, unnamed);
        self.peak_memory_bytes.fetch_max(memory, Ordering::Relaxed);
        if memory > self.limits.memory_bytes && !self.has_cgroup {
            return Some(Limit::Memory);
        }
        let threads: u64 = members.iter().map(|pid| threads(*pid)).sum();
        (threads + OWN_THREADS >= self.limits.processes).then_some(Limit::Processes)
    }

    /// What they hold, each page counted once. That is dear to find out, so first each page is counted for
    /// everyone who has it.
    fn memory_bytes(&self, members: &[Pid], unnamed: &Unnamed) -> u64 {
        let sum = |held: &dyn Fn(Pid) -> Held| {
            let (mut own, mut shared) = (0, 0);
            for pid in members {
                let held = held(*pid);
                own += held.own;
                shared += held.shared;
            }
            // What is mapped and open at once is one and the same.
            own + shared.max(unnamed.memory_bytes)
        };
        let rough = sum(&Held::resident);
        if rough <= self.limits.memory_bytes {
            return rough;
        }
        // Of a process that hides we know no better.
        sum(&|pid| Held::proportional(pid).unwrap_or_else(|| Held::resident(pid)))
    }

    fn check_disk(&self, unnamed: &Unnamed) -> Option<Limit> {
        let mut all = TreeUse {
            bytes: unnamed.disk_bytes,
            entries: 0,
        };
        for directory in &self.directories {
            // What cannot be looked at now is looked at the next time.
            let _ = tree::measure(directory, self.limits.disk_entries, &mut all);
        }
        let free = fstatvfs(&self.directories[0]).map_or(u64::MAX, |it| it.f_bavail * it.f_frsize);
        match all {
            all if all.bytes > self.limits.disk_bytes => Some(Limit::Disk),
            all if all.entries > self.limits.disk_entries => Some(Limit::DiskEntries),
            _ if free < FREE_FLOOR => Some(Limit::FreeSpace),
            _ => None,
        }
    }
}

/// Memory of a process, in bytes.
struct Held {
    own: u64,
    shared: u64,
}

impl Held {
    /// Counted whole, whoever else has it.
    fn resident(pid: Pid) -> Self {
        let bytes = |name| number(pid, "status", name).unwrap_or(0) * KIB;
        Self {
            own: bytes("RssAnon:"),
            shared: bytes("RssShmem:"),
        }
    }

    /// Its part of what it has with others; `None` if it does not let itself be looked at, or is gone.
    fn proportional(pid: Pid) -> Option<Self> {
        Some(Self {
            own: number(pid, "smaps_rollup", "Pss_Anon:")? * KIB,
            shared: number(pid, "smaps_rollup", "Pss_Shmem:")? * KIB,
        })
    }
}

const KIB: u64 = 1024;

fn threads(pid: Pid) -> u64 {
    number(pid, "status", "Threads:").unwrap_or(0)
}

/// A number of a file about a process, by its name.
fn number(pid: Pid, file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{}/{file}", pid.as_raw_nonzero())).ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_is_full_when_there_are_too_many_bytes_or_names_in_either_directory() {
        let job = tempfile::tempdir().unwrap();
        let places = ["workspace", "tmp"].map(|name| job.path().join(name));
        places
            .iter()
            .for_each(|place| fs::create_dir(place).unwrap());
        let watch = Watch {
            directories: places
                .each_ref()
                .map(|place| fs::File::open(place).unwrap().into()),
            limits: Limits {
                disk_bytes: 100 * KIB,
                disk_entries: 20,
                ..Limits::DEFAULT
            },
            family: Family::Descendants,
            has_cgroup: false,
            reached: OnceLock::new(),
            peak_memory_bytes: AtomicU64::new(0),
        };
        let [workspace, tmp] = places;
        let none = Unnamed::default();
        for number in 0..10 {
            fs::write(workspace.join(number.to_string()), "x").unwrap();
            fs::hard_link(workspace.join("0"), tmp.join(number.to_string())).unwrap();
        }
        assert_eq!(watch.check_disk(&none), None);
        let unnamed = Unnamed {
            disk_bytes: 101 * KIB,
            ..none
        };
        assert_eq!(watch.check_disk(&unnamed), Some(Limit::Disk));
        fs::write(tmp.join("0"), vec![0; 101 * 1024]).unwrap();
        assert_eq!(watch.check_disk(&none), Some(Limit::Disk));
        fs::write(tmp.join("0"), "x").unwrap();
        fs::create_dir(workspace.join("one more")).unwrap();
        assert_eq!(watch.check_disk(&none), Some(Limit::DiskEntries));
    }
}
