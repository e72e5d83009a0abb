//! Cgroups version 2: one hierarchy with a subtree that is delegated to the worker.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::{CgroupDirectories, SPARE_PROCESSES, processes};
use crate::spec::SandboxLimits;

const MOUNT: &str = "/sys/fs/cgroup";
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];
/// The cgroup of all processes in the subtree that belong to no command. Only the leaves of a subtree can contain
/// processes.
const LEAF: &str = "skillet";
/// The CPU weight of the leaf: as much as ten commands.
const LEAF_WEIGHT: &str = "1000";
/// The attributes with which systemd marks delegated cgroups: the first one since version 251, the second one before
/// and only for root.
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];
/// Attempts to move all processes, because new ones can start during a move.
const MOVES: u32 = 10;
/// CPU time of a command per 100 ms, in microseconds: two cores.
const CPU_MAX: &str = "200000 100000";

/// Takes over the worker's own cgroup, if allowed.
pub(super) fn take() -> io::Result<CgroupDirectories> {
    let own = fs::read_to_string("/proc/self/cgroup")?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = Path::new(MOUNT).join(own.ok_or(io::ErrorKind::Unsupported)?);
    let root = take_at(&own)?;
    Ok(CgroupDirectories {
        memory: root.clone(),
        pids: root,
    })
}

fn take_at(own: &Path) -> io::Result<PathBuf> {
    let root = match own.parent() {
        // This worker or another one in the same subtree took it over before.
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
    Ok(root.to_owned())
}

/// Makes the kernel enforce a sandbox's limits.
pub(super) fn limit(directories: &CgroupDirectories, limits: &SandboxLimits) -> io::Result<()> {
    let set = |file: &str, value: &str| fs::write(directories.memory.join(file), value);
    set("memory.max", &limits.memory_bytes.to_string())?;
    set("memory.oom.group", "1")?;
    set(
        "pids.max",
        &(limits.processes + SPARE_PROCESSES).to_string(),
    )?;
    set("cpu.max", CPU_MAX)?;
    // A kernel without swap accounting has no such file.
    let _ = set("memory.swap.max", "0");
    Ok(())
}

/// Returns whether the worker can manage this cgroup and nobody else does. Root can write to all cgroups, so write
/// access proves nothing.
fn is_ours(root: &Path) -> io::Result<bool> {
    // At the mount point, a container sees its own cgroup. The root cgroup of a machine has no `cgroup.type` file.
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
    // Older systemd versions and other managers set no attribute, but make the user the owner of the cgroup. Programs
    // in a desktop session also run in cgroups that the user owns, so the worker must be alone in the cgroup.
    let user = geteuid();
    let is_given = !user.is_root() && fs::metadata(root)?.uid() == user.as_raw();
    let own = std::process::id().to_string();
    let is_alone = processes(root)?.iter().all(|process| *process == own);
    Ok(is_given && is_alone)
}

/// Enables the controllers for the cgroups below `root`. The kernel requires that all processes are in those cgroups.
fn divide(root: &Path) -> io::Result<()> {
    let leaf = root.join(LEAF);
    match fs::create_dir(&leaf) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let enable = || {
        // Moves all processes, not only this one: for example a bundled database, or the parent that waits for the
        // worker.
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
        // The worker must not miss a heartbeat, however many commands run.
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
            // The process has exited.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            moved => moved?,
        }
    }
    Ok(())
}
