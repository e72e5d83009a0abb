//! The pid file of a cluster, and the check that its process is really the server.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::account::Account;

/// The age after which an empty pid file is a leftover of a crash.
const BLANK_FOR: Duration = Duration::from_secs(1);

/// The holder of a cluster, according to `postmaster.pid`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// There is no pid file.
    Nobody,
    /// A running server.
    Server { pid: u32 },
    /// A dead server. An unrelated process may have the same pid now.
    Dead { pid: u32 },
    /// The pid file is empty. With `for_good`, it stays empty.
    Blank { for_good: bool },
}

/// Reads the pid file of a cluster and checks the process.
pub(super) fn holder(cluster: &Path) -> io::Result<Holder> {
    let path = cluster.join("postmaster.pid");
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Holder::Nobody),
        Err(error) => return Err(error),
    };
    let Some(pid) = text
        .lines()
        .next()
        .and_then(|line| line.trim().parse().ok())
    else {
        let age = path.metadata()?.modified()?.elapsed().unwrap_or_default();
        return Ok(Holder::Blank {
            for_good: age > BLANK_FOR,
        });
    };
    Ok(if serves(pid, cluster) {
        Holder::Server { pid }
    } else {
        Holder::Dead { pid }
    })
}

/// Removes an empty pid file that would stay empty. Postgres refuses to start with it.
pub(super) fn remove_blank(cluster: &Path) -> io::Result<()> {
    fs::remove_file(cluster.join("postmaster.pid"))
}

/// Kills the remaining Postgres processes of a dead server, which have its cluster as working directory. They notice
/// its death by themselves, unless they are stuck or wait up to 60 s for another process. Until they end, their shared
/// memory prevents the start of the next server.
///
/// Only Linux shows the working directory of a process, and only to the user of the process, so a shell runs as that
/// user. On other systems the start waits for them.
pub(super) fn kill_orphans(cluster: &Path, account: &Account) -> io::Result<()> {
    const SCRIPT: &str = r#"
        for process in /proc/[0-9]*; do
            if test "$process/cwd" -ef "$1" && grep -q postgres "$process/comm"; then
                kill -s KILL "${process#/proc/}"
            fi
        done"#;
    let mut shell = account.command("/bin/sh");
    shell
        .args(["-c", SCRIPT, "sh"])
        .arg(cluster)
        .stderr(Stdio::null())
        .status()
        .map(|_| ())
}

/// Whether a process is the running server of a cluster. A zombie is not. If the system does not show enough, any
/// Postgres process counts, because a needless wait is better than two servers.
pub(super) fn serves(pid: u32, cluster: &Path) -> bool {
    if !Path::new("/proc/self/stat").exists() {
        return ps_shows_postgres(pid);
    }
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    is_live_postgres(&stat) && !works_elsewhere(pid, cluster)
}

/// Whether a process is known to have another working directory. A server's working directory is its cluster. Only the
/// user of the process, or root with all capabilities, can read it.
fn works_elsewhere(pid: u32, cluster: &Path) -> bool {
    match (
        fs::metadata(format!("/proc/{pid}/cwd")),
        fs::metadata(cluster),
    ) {
        (Ok(there), Ok(here)) => (there.dev(), there.ino()) != (here.dev(), here.ino()),
        _ => false,
    }
}

/// Parses `17 (postgres) S 1 …`. The name may contain brackets and spaces.
fn is_live_postgres(stat: &str) -> bool {
    stat.rsplit_once(") ")
        .is_some_and(|(name, rest)| name.contains("postgres") && !rest.starts_with(['Z', 'X']))
}

fn ps_shows_postgres(pid: u32) -> bool {
    let output = Command::new("ps")
        .args(["-o", "stat=,comm=", "-p", &pid.to_string()])
        .output();
    output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        text.contains("postgres") && !text.trim_start().starts_with('Z')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zombie_and_a_stranger_are_no_servers() {
        assert!(is_live_postgres("17 (postgres) S 1 17"));
        assert!(!is_live_postgres("17 (postgres) Z 1 17"));
        assert!(!is_live_postgres("17 (a) b (c) S 1 17"));
    }

    #[test]
    fn a_pid_file_that_names_an_unrelated_process_is_a_dead_servers() {
        let cluster = tempfile::tempdir().unwrap();
        let pid = std::process::id();
        fs::write(
            cluster.path().join("postmaster.pid"),
            format!("{pid}\n/somewhere\n"),
        )
        .unwrap();
        assert_eq!(holder(cluster.path()).unwrap(), Holder::Dead { pid });
    }
}
