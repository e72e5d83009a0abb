//! Errors of the embedded Postgres.

use std::io;
use std::path::{Path, PathBuf};

/// The error of a start or stop of the embedded Postgres.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// Another process holds the lock of the directory.
    #[error("another process{} manages the database in {}", in_brackets(.pid), .directory.display())]
    AlreadyManaged {
        /// The locked directory.
        directory: PathBuf,
        /// The process that holds the lock, if known.
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

    /// Postgres refuses to run as root, and there is no other user that could run it.
    #[error(
        "PostgreSQL does not run as root, and this system has neither a user `postgres` nor `nobody`"
    )]
    NoUnprivilegedUser,

    /// If this process is root: the user that runs the server cannot reach a directory.
    #[error(
        "PostgreSQL runs as user `{user}`, who may not enter {}, on the way to {}: choose another \
         directory or `chmod o+x` that one",
        .at.display(), .path.display()
    )]
    OutOfReach {
        /// The directory that the server must reach.
        path: PathBuf,
        /// The first parent directory that the user may not enter.
        at: PathBuf,
        /// The user that runs the server.
        user: String,
    },

    /// The short socket directory for long paths exists, but is not a private directory of this user.
    #[error("{} should be a private directory for PostgreSQL's socket, but is not: remove it", .0.display())]
    SocketDirectoryTaken(
        /// The socket directory.
        PathBuf,
    ),

    /// The programs in `SKILLET_PG_BIN` cannot be used. No other programs are tried.
    #[error("SKILLET_PG_BIN={} cannot be used: {reason}", .path.display())]
    ChosenBinariesUnusable {
        /// The value of `SKILLET_PG_BIN`.
        path: PathBuf,
        /// The reason.
        reason: String,
    },

    /// The version that created the cluster is not installed.
    #[error(
        "the database in {} was created by PostgreSQL {cluster}, which is not installed here \
         (found {found}): install PostgreSQL {cluster}, or dump and reload the database",
        .directory.display()
    )]
    OtherVersion {
        /// The directory of the cluster.
        directory: PathBuf,
        /// The major version that created the cluster.
        cluster: u32,
        /// The programs that were found instead.
        found: String,
    },

    /// No usable Postgres is installed, and it could not be downloaded.
    #[error(
        "PostgreSQL 15 or newer is not installed (found {found}): install it with `{install}`, or \
         set DATABASE_URL or SKILLET_PG_BIN. Downloading it failed: {download}"
    )]
    NotInstalled {
        /// The programs that were found instead.
        found: String,
        /// The error of the download.
        download: String,
        /// The command that installs Postgres on this system.
        install: &'static str,
    },

    /// `initdb` failed or took too long.
    #[error("PostgreSQL could not create a database: {output}")]
    InitFailed {
        /// The end of its output.
        output: String,
    },

    /// The server ended before it was ready.
    #[error("PostgreSQL did not start ({status}): {log}")]
    StartFailed {
        /// The exit status of the server.
        status: std::process::ExitStatus,
        /// The end of the server's log.
        log: String,
    },

    /// The server runs, but does not accept connections. It continues to run, for example for a long recovery, and the
    /// next start adopts it.
    #[error("PostgreSQL runs, but accepted no connection for {waited_secs} s ({answer}): {log}")]
    NotReady {
        /// The wait in seconds.
        waited_secs: u64,
        /// The last answer of the server.
        answer: String,
        /// The end of the server's log.
        log: String,
    },

    /// The server did not end, not even after SIGKILL.
    #[error("PostgreSQL (process {pid}) does not stop")]
    DoesNotStop {
        /// The process of the server.
        pid: u32,
    },

    /// A call of the operating system failed.
    #[error("cannot {action}")]
    Io {
        /// The action that failed.
        action: String,
        /// The error of the operating system.
        #[source]
        source: io::Error,
    },
}

impl PostgresError {
    /// Returns a function for `map_err`, which adds the action and the path to an error.
    pub(super) fn io(action: &str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let action = format!("{action} {}", path.display());
        move |source| Self::Io { action, source }
    }
}

fn in_brackets(pid: &Option<u32>) -> String {
    pid.map(|pid| format!(" (process {pid})"))
        .unwrap_or_default()
}
