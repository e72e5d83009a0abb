//! The socket of the server, and its readiness check.

use std::fmt;
use std::fs::{self, DirBuilder};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::account::Account;
use super::directory::Directory;
use super::error::PostgresError;

/// The longest socket path of macOS. Linux allows four bytes more.
const MAX_PATH_BYTES: usize = 103;

/// The deadline of a readiness check. A busy server answers in milliseconds. A later answer counts as silence, and the
/// check is repeated.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The server's reply to a new connection.
pub(super) enum Readiness {
    /// The server accepts connections.
    Ready,
    /// The server accepts no connections now, with its message: it starts, recovers or shuts down.
    Later(String),
    /// The server may run, but does not reply, with the error.
    Silent(String),
    /// No process listens.
    Absent,
}

impl fmt::Display for Readiness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => f.write_str("it answers, but it is not the server that holds the data"),
            Self::Later(message) | Self::Silent(message) => f.write_str(message),
            Self::Absent => f.write_str("it does not listen"),
        }
    }
}

/// The private directory of the server's socket.
pub(super) struct Socket {
    pub(super) directory: PathBuf,
    is_elsewhere: bool,
}

impl Socket {
    /// Creates the directory `socket` in the managed directory. If its path is too long for a socket, is not valid
    /// UTF-8 for a URL, or contains a comma, at which clients split it, creates a short directory under `/tmp` that is
    /// named after the inode of the managed directory.
    pub(super) fn prepare(directory: &Directory, account: &Account) -> Result<Self, PostgresError> {
        let near = directory.path().join("socket");
        let is_elsewhere = file_in(&near).as_os_str().len() > MAX_PATH_BYTES
            || near.to_str().is_none_or(|text| text.contains(','));
        let socket_directory = if is_elsewhere {
            let inode = directory
                .path()
                .metadata()
                .map_err(PostgresError::io("inspect", directory.path()))?;
            // Not the temporary directory of the environment: its path may be long too, and a process with another
            // environment must find the server again.
            PathBuf::from(format!("/tmp/skillet-{:x}-{:x}", inode.dev(), inode.ino()))
        } else {
            near
        };

        match DirBuilder::new().mode(0o700).create(&socket_directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                let is_ours = |owner| {
                    // In the managed directory, only the server's user can have created it.
                    owner == rustix::process::geteuid().as_raw()
                        || !is_elsewhere && owner == account.uid()
                };
                refuse_other_owners(&socket_directory, is_ours)?;
            }
            Err(error) => return Err(PostgresError::io("create", &socket_directory)(error)),
        }
        account.admit(&socket_directory, true)?;
        Ok(Self {
            directory: socket_directory,
            is_elsewhere,
        })
    }

    /// The URL of a database on this socket. It overrides variables of the environment such as `PGPORT` and
    /// `PGSSLMODE`.
    pub(super) fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@localhost/{}?host={}&port=5432&sslmode=disable",
            escape(database.as_bytes()),
            escape(self.directory.as_os_str().as_bytes()),
        )
    }

    /// Connects like a client to check the readiness of the server, and disconnects.
    pub(super) fn ask(&self) -> Readiness {
        ask(&file_in(&self.directory)).unwrap_or_else(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Readiness::Absent,
            _ => Readiness::Silent(error.to_string()),
        })
    }

    /// Removes the socket and lock file of a dead server. The lock file protects only this directory, which no other
    /// program uses. It would prevent the start of the next server if another process has the dead server's pid.
    pub(super) fn clear(&self) {
        let socket = file_in(&self.directory);
        let _ = fs::remove_file(socket.with_file_name(format!("{SOCKET_NAME}.lock")));
        let _ = fs::remove_file(socket);
    }

    /// Removes the directory if it is outside the managed directory.
    pub(super) fn remove(&self) {
        if self.is_elsewhere {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

const SOCKET_NAME: &str = ".s.PGSQL.5432";

fn file_in(directory: &Path) -> PathBuf {
    directory.join(SOCKET_NAME)
}

/// Rejects a directory that another user owns. Any user can create one under `/tmp`, with a server of their own in it.
fn refuse_other_owners(
    directory: &Path,
    is_ours: impl Fn(u32) -> bool,
) -> Result<(), PostgresError> {
    let metadata = directory
        .symlink_metadata()
        .map_err(PostgresError::io("inspect", directory))?;
    if metadata.is_dir() && is_ours(metadata.uid()) && metadata.mode() & 0o007 == 0 {
        Ok(())
    } else {
        Err(PostgresError::SocketDirectoryTaken(directory.to_owned()))
    }
}

/// Sends a minimal part of the protocol: a startup message and, after the first reply, a termination.
fn ask(path: &Path) -> io::Result<Readiness> {
    const START_UP: &[u8] = b"\0\0\0\x29\0\x03\0\0user\0postgres\0database\0postgres\0\0";
    const TERMINATE: &[u8] = b"X\0\0\0\x04";
    const AUTHENTICATION: u8 = b'R';

    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT))?;
    stream.write_all(START_UP)?;
    let mut head = [0; 5];
    stream.read_exact(&mut head)?;
    if head[0] == AUTHENTICATION {
        stream.write_all(TERMINATE)?;
        return Ok(Readiness::Ready);
    }
    let mut fields = Vec::new();
    stream.take(4096).read_to_end(&mut fields)?;
    Ok(Readiness::Later(message(&fields)))
}

/// The message in an error reply. Each field begins with a letter and ends with a zero byte.
fn message(fields: &[u8]) -> String {
    fields
        .split(|byte| *byte == 0)
        .find_map(|field| field.strip_prefix(b"M"))
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .unwrap_or_else(|| "invalid reply".to_owned())
}

fn escape(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => {
                text.push(*byte as char);
            }
            _ => text.push_str(&format!("%{byte:02X}")),
        }
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_escapes_what_is_not_plain() {
        let socket = Socket {
            directory: "/a b/ü&c".into(),
            is_elsewhere: false,
        };
        assert_eq!(
            socket.url("x?y"),
            "postgres://postgres@localhost/x%3Fy?host=/a%20b/%C3%BC%26c&port=5432&sslmode=disable"
        );
    }

    #[test]
    fn the_message_is_found_among_the_fields_of_an_error() {
        let fields = b"SFATAL\0VFATAL\0C57P03\0Mthe database system is starting up\0\0";
        assert_eq!(message(fields), "the database system is starting up");
    }
}
