//! Cgroups version 1: one hierarchy per controller. A process that can write to a cgroup can create others below it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::{COMMAND, CgroupDirectories, SPARE_PROCESSES};
use crate::spec::SandboxLimits;

/// Returns the worker's own cgroups, if it can create others in them.
pub(super) fn take() -> io::Result<CgroupDirectories> {
    let cgroups = fs::read_to_string("/proc/self/cgroup")?;
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let find = |controller| {
        own(&cgroups, &mounts, controller).ok_or(io::Error::from(io::ErrorKind::Unsupported))
    };
    let directories = CgroupDirectories {
        memory: find("memory")?,
        pids: find("pids")?,
    };
    // Being root is not enough: container engines mount these hierarchies read-only.
    let trial = directories.child(&format!("{COMMAND}{}-trial", std::process::id()));
    let tried = try_limits(&trial);
    for directory in trial.all() {
        let _ = fs::remove_dir(directory);
    }
    tried.map(|()| directories)
}

fn try_limits(trial: &CgroupDirectories) -> io::Result<()> {
    for directory in trial.all() {
        fs::create_dir(directory)?;
    }
    limit(trial, &SandboxLimits::DEFAULT)
}

/// Makes the kernel enforce a sandbox's limits. Swap counts if the kernel accounts for it.
pub(super) fn limit(directories: &CgroupDirectories, limits: &SandboxLimits) -> io::Result<()> {
    let bytes = limits.memory_bytes.to_string();
    fs::write(directories.memory.join("memory.limit_in_bytes"), &bytes)?;
    let with_swap = directories.memory.join("memory.memsw.limit_in_bytes");
    if with_swap.exists() {
        fs::write(with_swap, &bytes)?;
    }
    let processes = limits.processes + SPARE_PROCESSES;
    fs::write(directories.pids.join("pids.max"), processes.to_string())
}

/// Returns the path of this process's cgroup for a controller. Parses the formats of cgroups(7) and
/// proc_pid_mountinfo(5).
fn own(cgroups: &str, mounts: &str, controller: &str) -> Option<PathBuf> {
    let has = |list: &str| list.split(',').any(|it| it == controller);
    let path = cgroups.lines().find_map(|line| {
        let (_, rest) = line.split_once(':')?;
        let (controllers, path) = rest.split_once(':')?;
        has(controllers).then_some(path)
    })?;
    mounts.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, mount) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let is_it = kind.next()? == "cgroup" && has(kind.nth(1)?);
        // A container sees its own part of the hierarchy as the root.
        let below = Path::new(path).strip_prefix(root).ok()?;
        is_it.then(|| Path::new(mount).join(below))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_finds_its_own_cgroup_also_in_a_container() {
        let cgroups = "4:memory:/app/1\n2:cpu,cpuacct:/app/1\n1:name=systemd:/app/1\n0::/\n";
        let mounts = |root: &str| {
            format!(
                "30 25 0:26 / /sys/fs/cgroup ro shared:9 - tmpfs tmpfs ro\n\
                 36 30 0:31 {root} /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n\
                 37 30 0:32 {root} /sys/fs/cgroup/memory rw shared:15 - cgroup cgroup rw,memory\n"
            )
        };
        let place = |place: &str| Some(PathBuf::from(place));
        let whole = mounts("/");
        assert_eq!(
            own(cgroups, &whole, "memory"),
            place("/sys/fs/cgroup/memory/app/1")
        );
        let contained = mounts("/app/1");
        assert_eq!(
            own(cgroups, &contained, "memory"),
            place("/sys/fs/cgroup/memory")
        );
        assert_eq!(
            own(cgroups, &contained, "cpu"),
            place("/sys/fs/cgroup/cpu,cpuacct")
        );
        assert_eq!(own(cgroups, &whole, "pids"), None);
        assert_eq!(own("4:memory:/other\n", &contained, "memory"), None);
    }
}
