//! The server's settings. They are given on its command line, where they win over every file.

use std::ffi::OsString;
use std::path::Path;

/// What the caller may choose about the server.
#[derive(Clone, Copy, Debug)]
pub struct PostgresSettings {
    /// Whether a commit survives a power cut; it always survives a kill. Tests say no and are
    /// quicker.
    pub durable: bool,
    /// The most connections.
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
    // Taken from the system only as it is used.
    "shared_buffers=256MB",
    // Also what a crash recovery has to read at most.
    "max_wal_size=2GB",
    "wal_compression=on",
    // Our statements are short; compiling them costs more than it saves.
    "jit=off",
    // Nobody reads this log while all is well. An error goes to the client that caused it, which
    // reports it; here it would only let clients fill the disk.
    "logging_collector=off",
    "log_destination=stderr",
    "log_min_messages=log",
    "log_checkpoints=off",
];

const NOT_DURABLE: &[&str] = &[
    "fsync=off",
    "full_page_writes=off",
    // A test prepares one, as an application beside us may.
    "max_prepared_transactions=4",
];

/// The server's arguments, beyond where its data is.
pub(super) fn arguments(settings: PostgresSettings, socket_directory: &Path) -> Vec<OsString> {
    let fast: &[&str] = if settings.durable { &[] } else { NOT_DURABLE };
    let mut arguments = vec![
        "-c".into(),
        format!("max_connections={}", settings.max_connections).into(),
    ];
    for setting in ALWAYS.iter().chain(fast) {
        arguments.extend(["-c".into(), OsString::from(setting)]);
    }
    // It is a list of names, of which an unquoted one loses its outer spaces.
    let mut list = OsString::from("unix_socket_directories=\"");
    list.push(socket_directory.to_string_lossy().replace('"', "\"\""));
    list.push("\"");
    arguments.extend(["-c".into(), list]);
    arguments
}
