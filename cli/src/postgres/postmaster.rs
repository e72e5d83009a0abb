//! The pid file of a cluster, and whether the process that it names is really its server.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::account::Account;

/// A pid file without content that is older than this was being written when everything died.
const BLANK_FOR: Duration = Duration::from_secs(1);

/// Who holds a cluster, by its `postmaster.pid`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Holder {
    /// Nobody: there is no such file.
    Nobody,
    /// A live server.
    Server { pid: u32 },
    /// A server that is dead, though its number may be in use again by an unrelated process.
    Dead { pid: u32 },
    /// The file says nothing yet, or `for_good`.
    Blank { for_good: bool },
}

/// Reads the pid file of a cluster and looks at the process.
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

/// Removes a pid file that is blank for good, at which Postgres would refuse to start.
pub(super) fn remove_blank(cluster: &Path) -> io::Result<()> {
    fs::remove_file(cluster.join("postmaster.pid"))
}

/// Kills what is left of a dead server: processes of Postgres that work in its cluster. They notice
/// its death by themselves, unless they are stuck or in a wait of 60 s for another process to come,
/// and until they end, their shared memory keeps the next server out.
///
/// Only Linux tells where a process works, and only to its own user, hence the shell as that user.
/// Elsewhere they are waited for.
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

/// Whether a process is the live server of a cluster; a zombie is not. Where the system does not
/// tell enough, any Postgres counts as it, since a wait for nothing is better than two servers.
pub(super) fn serves(pid: u32, cluster: &Path) -> bool {
    if !Path::new("/proc/self/stat").exists() {
        return ps_shows_postgres(pid);
    }
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    is_live_postgres(&stat) && !works_elsewhere(pid, cluster)
}

/// Whether a process is known to work in another directory; a server works in its cluster. Only its
/// user, or root with every capability, gets to know.
fn works_elsewhere(pid: u32, cluster: &Path) -> bool {
    match (
        fs::metadata(format!("/proc/{pid}/cwd")),
        fs::metadata(cluster),
    ) {
        (Ok(there), Ok(here)) => (there.dev(), there.ino()) != (here.dev(), here.ino()),
        _ => false,
    }
}

/// Reads `17 (postgres) S 1 …`, where the name may itself contain brackets and spaces.
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
