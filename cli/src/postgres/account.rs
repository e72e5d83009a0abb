//! The operating system user that runs the server.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::error::PostgresError;

/// A group without members. Neither distributions nor systemd assign its number.
const PRIVATE_GROUP: u32 = 60_705;

/// The user that runs `initdb` and `postgres`. Both refuse to run as root.
#[derive(Clone)]
pub(super) enum Account {
    /// The user of this process.
    Own,
    /// If this process is root: another user, in the private group. Other programs of that user are not in the group,
    /// so they can access neither the server's files nor its socket, and the kernel does not let them inspect its
    /// processes.
    Other { name: String, uid: u32, gid: u32 },
}

impl Account {
    /// Chooses the user. For root this is the owner of the cluster, else `postgres`, else `nobody`.
    pub(super) fn choose(cluster: &Path) -> Result<Self, PostgresError> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Own);
        }
        if let Ok(metadata) = cluster.metadata()
            && metadata.uid() != 0
        {
            let (uid, gid) = (metadata.uid(), metadata.gid());
            let name = id(&["-un", &uid.to_string()])?.unwrap_or_else(|| uid.to_string());
            return Ok(Self::other(name, uid, gid));
        }
        for name in ["postgres", "nobody"] {
            if let (Some(uid), Some(gid)) = (number(&["-u", name])?, number(&["-g", name])?) {
                return Ok(Self::other(name.to_owned(), uid, gid));
            }
        }
        Err(PostgresError::NoUnprivilegedUser)
    }

    /// The user in the private group, or in the given group if that group does not exist in the container.
    fn other(name: String, uid: u32, gid: u32) -> Self {
        let private = Self::Other {
            name: name.clone(),
            uid,
            gid: PRIVATE_GROUP,
        };
        match private.command("true").status() {
            Ok(_) => private,
            Err(_) => Self::Other { name, uid, gid },
        }
    }

    pub(super) fn uid(&self) -> u32 {
        match self {
            Self::Own => rustix::process::geteuid().as_raw(),
            Self::Other { uid, .. } => *uid,
        }
    }

    /// A command that runs as this user in `/`, with a minimal environment. The environment of this process contains
    /// secrets, and variables such as `PGPORT` that would change the server's settings.
    ///
    /// With a user id set, `Command` also drops the supplementary groups.
    pub(super) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command
            .current_dir("/")
            .stdin(Stdio::null())
            .env_clear()
            .env("LC_ALL", "C");
        for name in ["PATH", "LD_LIBRARY_PATH"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        if let Self::Other { uid, gid, .. } = self {
            command.uid(*uid).gid(*gid);
        }
        command
    }

    /// Makes this user the owner of a file or directory of this process.
    pub(super) fn give(&self, path: &Path) -> Result<(), PostgresError> {
        match self {
            Self::Own => Ok(()),
            Self::Other { uid, gid, .. } => lchown(path, Some(*uid), Some(*gid))
                .map_err(PostgresError::io("change the owner of", path)),
        }
    }

    /// Restricts a directory to this user, who may traverse it and, with `may_write`, create files in it.
    pub(super) fn admit(&self, path: &Path, may_write: bool) -> Result<(), PostgresError> {
        let mode = match self {
            Self::Own => 0o700,
            Self::Other { gid, .. } => {
                lchown(path, Some(0), Some(*gid))
                    .map_err(PostgresError::io("change the owner of", path))?;
                if may_write { 0o770 } else { 0o710 }
            }
        };
        fs::set_permissions(path, Permissions::from_mode(mode))
            .map_err(PostgresError::io("change the mode of", path))
    }

    /// Checks that this user can reach a directory. One of its parents may be closed to the user.
    pub(super) fn check_reach(&self, path: &Path) -> Result<(), PostgresError> {
        let Self::Other { name, .. } = self else {
            return Ok(());
        };
        let mut way: Vec<_> = path.ancestors().collect();
        way.reverse();
        let output = self
            .command("/bin/sh")
            .args([
                "-c",
                r#"for at; do test -x "$at" || { printf %s "$at"; exit; }; done"#,
                "sh",
            ])
            .args(way)
            .output()
            .map_err(|source| PostgresError::Io {
                action: format!("become user `{name}`"),
                source,
            })?;
        if output.stdout.is_empty() {
            return Ok(());
        }
        let at = PathBuf::from(String::from_utf8_lossy(&output.stdout).into_owned());
        Err(PostgresError::OutOfReach {
            path: path.to_owned(),
            at,
            user: name.clone(),
        })
    }

    /// Checks that the user has a name. `initdb` fails without one, for example in a container that runs with a numeric
    /// user id.
    pub(super) fn check_name(&self) -> Result<(), PostgresError> {
        match self {
            Self::Own if id(&["-un"])?.is_none() => {
                Err(PostgresError::UserHasNoName { uid: self.uid() })
            }
            _ => Ok(()),
        }
    }

    /// Sends a signal that reaches only processes of this user. For root, the pid comes from a file that this user can
    /// write.
    pub(super) fn signal(&self, pid: u32, signal: &str) -> Result<(), PostgresError> {
        self.command("/bin/sh")
            .args(["-c", r#"kill -s "$1" "$2""#, "sh", signal, &pid.to_string()])
            .stderr(Stdio::null())
            .status()
            .map(|_| ())
            .map_err(PostgresError::io("run", Path::new("/bin/sh")))
    }
}

/// The output of `id`, which also asks a name service. Returns `None` if there is no such user.
fn id(arguments: &[&str]) -> Result<Option<String>, PostgresError> {
    let output = Command::new("id")
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .map_err(PostgresError::io("run", Path::new("id")))?;
    Ok(output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned()))
}

fn number(arguments: &[&str]) -> Result<Option<u32>, PostgresError> {
    let Some(text) = id(arguments)? else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|error| PostgresError::Io {
        action: format!("read a user id from {text:?}"),
        source: io::Error::other(error),
    })
}
