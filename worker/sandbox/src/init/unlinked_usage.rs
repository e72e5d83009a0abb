//! Memory and disk usage without a path: open files that never had a name or have lost it, and shared memory of System
//! V.
//!
//! Some of it is not visible here: memory that is mapped but no longer open, or in transit through a socket. A cgroup
//! counts such memory as well.

use std::collections::HashSet;
use std::fs;
use std::io;

use rustix::fs::{FileType, stat, statfs};
use rustix::process::Pid;

use super::process::{self, Process};
use super::process_set::ProcessSet;

/// The size of the unlinked files in bytes.
#[derive(Default)]
pub(super) struct UnlinkedUsage {
    pub(super) memory_bytes: u64,
    pub(super) disk_bytes: u64,
}

/// Measures all files that these processes have open. All threads of a process have the same table of open files,
/// because the system call filter denies separate tables.
pub(super) fn measure(processes: &[Process], process_set: ProcessSet) -> UnlinkedUsage {
    let mut sum = UnlinkedUsage::default();
    let mut seen = HashSet::new();
    for process in processes {
        // The process may be gone or deny access.
        let Ok(entries) = open_files(process.thread) else {
            continue;
        };
        for entry in entries.flatten() {
            sum.add(&entry.path(), &mut seen);
        }
    }
    if let ProcessSet::Namespace = process_set {
        sum.memory_bytes += system_v();
    }
    sum
}

/// Returns whether a process denies access, as if it belonged to another user. `shell` is the first process of a
/// command: until it becomes bash, it denies access like its supervisor.
pub(super) fn is_hidden(process: &Process, shell: Pid) -> bool {
    let is_denied = |thread| {
        open_files(thread).is_err_and(|error| error.kind() == io::ErrorKind::PermissionDenied)
    };
    let is_begun = |thread| thread != shell || !process::has_not_executed(thread);
    // A process that is ending also denies access, and has no memory. Bash may have started since, so access is
    // checked twice.
    is_denied(process.thread)
        && is_begun(process.thread)
        && Process::look(process.thread).is_some_and(|process| is_denied(process.thread))
}

fn open_files(thread: Pid) -> io::Result<fs::ReadDir> {
    fs::read_dir(format!("/proc/{}/fd", thread.as_raw_nonzero()))
}

impl UnlinkedUsage {
    /// Adds an open file, unless it has a name or was added before.
    fn add(&mut self, descriptor: &std::path::Path, seen: &mut HashSet<(u64, u64)>) {
        const BLOCK_BYTES: u64 = 512;
        let Ok(file) = stat(descriptor) else {
            return;
        };
        let is_plain = FileType::from_raw_mode(file.st_mode) == FileType::RegularFile;
        if !is_plain || file.st_nlink > 0 || !seen.insert((file.st_dev, file.st_ino)) {
            return;
        }
        let bytes = file.st_blocks.unsigned_abs() * BLOCK_BYTES;
        let is_memory = statfs(descriptor).is_ok_and(|it| it.f_type == libc::TMPFS_MAGIC);
        if is_memory {
            self.memory_bytes += bytes;
        } else {
            self.disk_bytes += bytes;
        }
    }
}

/// Returns the size of all shared memory of the namespace, attached or not (proc_sysvipc(5)).
fn system_v() -> u64 {
    let text = fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    let mut lines = text.lines();
    let names = lines.next().unwrap_or_default().split_whitespace();
    let Some(column) = names.into_iter().position(|name| name == "rss") else {
        return 0;
    };
    let bytes = |line: &str| line.split_whitespace().nth(column)?.parse::<u64>().ok();
    lines.filter_map(bytes).sum()
}
