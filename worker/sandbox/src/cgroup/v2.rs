//! Version 2: one hierarchy, of which a subtree is delegated to the worker.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use super::{CgroupDirectories, SPARE_PROCESSES, processes};
use crate::spec::SandboxLimits;

const MOUNT: &str = "/sys/fs/cgroup";
const CONTROLLERS: [&str; 3] = ["cpu", "memory", "pids"];
/// The cgroup of the subtree's processes that are no command's: only the leaves of a subtree have any.
const LEAF: &str = "skillet";
/// Their share of busy processors: that of ten commands.
const LEAF_WEIGHT: &str = "1000";
/// The attributes by which systemd marks cgroups that it leaves to others: the first since version 251, the second, for
/// root, before.
const DELEGATED: [&str; 2] = ["user.delegate", "trusted.delegate"];
/// Rounds in which processes that are being made while others are moved are caught.
const MOVES: u32 = 10;
/// Processor time of a command in each 100 ms, in microseconds: two cores.
const CPU_MAX: &str = "200000 100000";

/// Takes the worker's own cgroup over, if it may.
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
    Ok(root.to_owned())
}

/// Has the kernel keep a sandbox's limits.
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
