//! The disk usage of a job, and the free space for others.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{Mode, OFlags, fstatvfs, openat};

use super::process_set::ProcessSet;
use super::tree::{self, TreeUse};
use crate::spec::{DiskCount, Limit, SandboxLimits};

/// The minimum time between two measurements while a command runs, as a multiple of the duration of the last one.
const SHARE_WHILE_RUNNING: u32 = 5;
/// The same after a command. It is longer, because the job waits for this measurement.
const SHARE_AT_END: u32 = 20;
/// The free space in bytes below which the disk that all jobs share counts as full.
const FREE_FLOOR: u64 = 512 * 1024 * 1024;

/// The directories of a job, with their last measured usage.
pub(super) struct Disk {
    directories: [OwnedFd; 2],
    limits: SandboxLimits,
    last: Mutex<Option<DiskCount>>,
}

impl Disk {
    /// Opens the job's directories.
    pub(super) fn new(
        job: &OwnedFd,
        limits: SandboxLimits,
        process_set: ProcessSet,
    ) -> io::Result<Self> {
        let open = |place: &str| {
            let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            openat(job, place, flags, Mode::empty())
        };
        // Inside a namespace, `..` leads no further than the command itself can go.
        let places = match process_set {
            ProcessSet::Namespace => ["/workspace", "/tmp"],
            ProcessSet::Scope | ProcessSet::Descendants { .. } => ["workspace", "tmp"],
        };
        Ok(Self {
            directories: [open(places[0])?, open(places[1])?],
            limits,
            last: Mutex::new(None),
        })
    }

    /// Checks the disk while a command runs. `unlinked_bytes` is the size of its open files without a name.
    pub(super) fn look(&self, unlinked_bytes: u64) -> Option<Limit> {
        self.check(unlinked_bytes, SHARE_WHILE_RUNNING)
    }

    /// Checks the disk after a command.
    pub(super) fn look_at_end(&self) -> Option<Limit> {
        self.check(0, SHARE_AT_END)
    }

    /// Starts from the known usage, if there is one.
    pub(super) fn begin(&self, known: Option<DiskCount>) {
        if known.is_some() {
            *self.locked() = known;
        }
    }

    /// The result of the last measurement.
    pub(super) fn last(&self) -> Option<DiskCount> {
        *self.locked()
    }

    fn check(&self, unlinked_bytes: u64, share: u32) -> Option<Limit> {
        let free_bytes =
            fstatvfs(&self.directories[0]).map_or(u64::MAX, |it| it.f_bavail * it.f_frsize);
        let is_due = self.last().is_none_or(|last| {
            // Any space that the disk has lost since then may have gone to this job.
            let lost_bytes = last.free_bytes.saturating_sub(free_bytes);
            last.bytes + lost_bytes > self.limits.disk_bytes
                || now().saturating_sub(last.at) >= last.took * share
        });
        let files = if is_due {
            self.count(unlinked_bytes, free_bytes)
        } else {
            None
        };
        files.or((free_bytes < FREE_FLOOR).then_some(Limit::FreeSpace))
    }

    /// Measures all files.
    fn count(&self, unlinked_bytes: u64, free_bytes: u64) -> Option<Limit> {
        let begun_at = now();
        let mut all = TreeUse {
            bytes: unlinked_bytes,
            entries: 0,
        };
        for directory in &self.directories {
            // A directory that cannot be read now is measured the next time.
            let _ = tree::measure(directory, self.limits.disk_entries, &mut all);
        }
        let at = now();
        *self.locked() = Some(DiskCount {
            at,
            took: at.saturating_sub(begun_at),
            bytes: all.bytes,
            free_bytes,
        });
        match all {
            all if all.bytes > self.limits.disk_bytes => Some(Limit::Disk),
            all if all.entries > self.limits.disk_entries => Some(Limit::DiskEntries),
            _ => None,
        }
    }

    fn locked(&self) -> MutexGuard<'_, Option<DiskCount>> {
        // Nothing that could panic happens under the lock.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the time of a clock that all processes of the machine share. An `Instant` cannot be sent to another
/// process.
fn now() -> Duration {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the structure outlives the call, which writes no more than it holds. This clock is always there.
    #[expect(unsafe_code)]
    unsafe {
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now);
    }
    Duration::from_secs(now.tv_sec.unsigned_abs())
        + Duration::from_nanos(now.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const KIB: u64 = 1024;

    /// A job's directories and their `Disk`.
    fn job() -> (tempfile::TempDir, Disk) {
        let job = tempfile::tempdir().unwrap();
        for name in ["workspace", "tmp"] {
            fs::create_dir(job.path().join(name)).unwrap();
        }
        let directory = fs::File::open(job.path()).unwrap().into();
        let limits = SandboxLimits {
            disk_bytes: 100 * KIB,
            disk_entries: 20,
            ..SandboxLimits::DEFAULT
        };
        let process_set = ProcessSet::Descendants { owns_user: false };
        let disk = Disk::new(&directory, limits, process_set).unwrap();
        (job, disk)
    }

    #[test]
    fn the_disk_is_full_when_there_are_too_many_bytes_or_names_in_either_directory() {
        let (job, disk) = job();
        let [workspace, tmp] = ["workspace", "tmp"].map(|name| job.path().join(name));
        let count = |unlinked| disk.count(unlinked, u64::MAX);
        for number in 0..10 {
            fs::write(workspace.join(number.to_string()), "x").unwrap();
            fs::hard_link(workspace.join("0"), tmp.join(number.to_string())).unwrap();
        }
        assert_eq!(count(0), None);
        assert_eq!(count(101 * KIB), Some(Limit::Disk));
        fs::write(tmp.join("0"), vec![0; 101 * 1024]).unwrap();
        assert_eq!(count(0), Some(Limit::Disk));
        fs::write(tmp.join("0"), "x").unwrap();
        fs::create_dir(workspace.join("one more")).unwrap();
        assert_eq!(count(0), Some(Limit::DiskEntries));
    }

    #[test]
    fn what_was_added_up_just_now_is_added_up_again_only_if_the_disk_lost_as_much_as_is_left() {
        let (job, disk) = job();
        let last = |free_bytes| {
            disk.begin(Some(DiskCount {
                at: now(),
                took: Duration::from_secs(1000),
                bytes: 0,
                free_bytes,
            }));
        };
        fs::write(job.path().join("tmp/file"), vec![0; 101 * 1024]).unwrap();
        last(0);
        assert_eq!(disk.look_at_end(), None);
        last(u64::MAX);
        assert_eq!(disk.look_at_end(), Some(Limit::Disk));
    }
}
