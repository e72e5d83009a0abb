//! The settings of the server. They are passed on its command line, where they override every file.

use std::ffi::OsString;
use std::path::Path;

/// The settings of the server that the caller chooses.
#[derive(Clone, Copy, Debug)]
pub struct PostgresSettings {
    /// Whether a commit survives a power failure. It always survives a kill. Tests turn this off to be faster.
    pub durable: bool,
    /// The maximum number of connections.
    pub max_connections: u16,
}

impl Default for PostgresSettings {
    fn default() -> Self {
        Self {
            durable: true,
            max_connections: 200,
        }
    }
}

const ALWAYS: &[&str] = &[
    "listen_addresses=",
    "port=5432",
    "cluster_name=skillet",
    "timezone=UTC",
    "log_timezone=UTC",
    // The system allocates this memory only as it is used.
    "shared_buffers=256MB",
    // This also limits how much a crash recovery has to read.
    "max_wal_size=2GB",
    "wal_compression=on",
    // Skillet's statements are short, so compiling them costs more than it saves.
    "jit=off",
    // This log is only needed when the server itself fails. A client reports the errors that it causes. In this log,
    // clients could use them to fill the disk.
    "logging_collector=off",
    "log_destination=stderr",
    "log_min_messages=log",
    "log_checkpoints=off",
];

const NOT_DURABLE: &[&str] = &[
    "fsync=off",
    "full_page_writes=off",
    // A test prepares a transaction, as another application in the same database may.
    "max_prepared_transactions=4",
];

/// The arguments of the server, without its data directory.
pub(super) fn arguments(settings: PostgresSettings, socket_directory: &Path) -> Vec<OsString> {
    let fast: &[&str] = if settings.durable { &[] } else { NOT_DURABLE };
    let mut arguments = vec![
        "-c".into(),
        format!("max_connections={}", settings.max_connections).into(),
    ];
    for setting in ALWAYS.iter().chain(fast) {
        arguments.extend(["-c".into(), OsString::from(setting)]);
    }
    // The setting is a list of names. An unquoted name loses its leading and trailing spaces.
    let mut list = OsString::from("unix_socket_directories=\"");
    list.push(socket_directory.to_string_lossy().replace('"', "\"\""));
    list.push("\"");
    arguments.extend(["-c".into(), list]);
    arguments
}
