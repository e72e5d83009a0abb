//! Errors of the embedded Postgres.

use std::io;
use std::path::{Path, PathBuf};

/// Why the embedded Postgres could not be started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// Another live process holds the directory's lock.
    #[error("another process{} manages the database in {}", in_brackets(.pid), .directory.display())]
    AlreadyManaged {
        /// The directory that is taken.
        directory: PathBuf,
        /// The process that took it, where it could say so.
        pid: Option<u32>,
    },

    /// `initdb` refuses to run as a user without a name.
    #[error(
        "user id {uid} has no entry in /etc/passwd, and PostgreSQL cannot create a database \
         without one: add an entry, run as another user, or set DATABASE_URL"
    )]
    UserHasNoName {
        /// The user id of this process.
        uid: u32,
    },

    /// Postgres refuses to run as root and there is nobody else.
    #[error(
        "PostgreSQL does not run as root, and this system has neither a user `postgres` nor `nobody`"
    )]
    NoUnprivilegedUser,

    /// As root: the user who runs the server cannot get to a directory.
    #[error(
        "PostgreSQL runs as user `{user}`, who may not enter {}, on the way to {}: choose another \
         directory or `chmod o+x` that one",
        .at.display(), .path.display()
    )]
    OutOfReach {
        /// Where the server has to get to.
        path: PathBuf,
        /// The first directory on the way that is closed.
        at: PathBuf,
        /// Who runs the server.
        user: String,
    },

    /// The short socket directory for long paths exists and is not ours.
    #[error("{} should be a private directory for PostgreSQL's socket, but is not: remove it", .0.display())]
    SocketDirectoryTaken(
        /// That directory.
        PathBuf,
    ),

    /// `SKILLET_PG_BIN` was set, so nothing else is tried.
    #[error("SKILLET_PG_BIN={} cannot be used: {reason}", .path.display())]
    ChosenBinariesUnusable {
        /// Its value.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },

    /// The cluster was made by a version whose programs are not here.
    #[error(
        "the database in {} was made by PostgreSQL {cluster}, which is not installed here \
         (found {found}): install PostgreSQL {cluster}, or dump and reload the database",
        .directory.display()
    )]
    OtherVersion {
        /// The directory of the cluster.
        directory: PathBuf,
        /// The version that made it.
        cluster: u32,
        /// What there is instead.
        found: String,
    },

    /// No usable Postgres is installed, and it could not be downloaded.
    #[error(
        "PostgreSQL 15 or newer is not installed (found {found}): install it with `{install}`, or \
         set DATABASE_URL or SKILLET_PG_BIN. Downloading it failed: {download}"
    )]
    NotInstalled {
        /// What there is instead.
        found: String,
        /// Why the download failed.
        download: String,
        /// The command that installs it on this system.
        install: &'static str,
    },

    /// `initdb` failed or took too long.
    #[error("PostgreSQL could not create a database: {output}")]
    InitFailed {
        /// The end of what it said.
        output: String,
    },

    /// The server ended by itself before it was ready.
    #[error("PostgreSQL did not start ({status}): {log}")]
    StartFailed {
        /// How it ended.
        status: std::process::ExitStatus,
        /// The end of its log.
        log: String,
    },

    /// The server lives and does not take connections. It is left to its work, such as a long
    /// recovery; the next start adopts it.
    #[error("PostgreSQL runs, but took no connection for {waited_secs} s ({answer}): {log}")]
    NotReady {
        /// How long it was given.
        waited_secs: u64,
        /// What it last answered.
        answer: String,
        /// The end of its log.
        log: String,
    },

    /// Not even SIGKILL ended it.
    #[error("PostgreSQL (process {pid}) does not stop")]
    DoesNotStop {
        /// The process that stays.
        pid: u32,
    },

    /// The operating system refused something.
    #[error("cannot {action}")]
    Io {
        /// What was refused.
        action: String,
        /// How it was refused.
        #[source]
        source: io::Error,
    },
}

impl PostgresError {
    /// For `map_err`: what was attempted, and on which path.
    pub(super) fn io(action: &str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let action = format!("{action} {}", path.display());
        move |source| Self::Io { action, source }
    }
}

fn in_brackets(pid: &Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})"))
        .unwrap_or_default()
}
