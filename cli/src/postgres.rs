//! The embedded Postgres: a private server that Skillet starts, adopts and stops.
//!
//! The server listens only on a Unix socket in a private directory, so every user who can open the socket is trusted.
//! Recovery from a crash is automatic: a server that outlived its Skillet process is adopted, a stale pid file is
//! detected, and an incomplete cluster is created again.

mod account;
mod binaries;
mod cluster;
mod directory;
mod error;
mod installation;
mod postmaster;
mod program;
mod server;
mod settings;
mod socket;
mod wheel;

use std::path::{Path, PathBuf};

use account::Account;
use directory::Directory;
use server::{Launch, PostgresServer};
use socket::Socket;

pub use error::PostgresError;
pub use settings::PostgresSettings;

/// A private Postgres on a Unix socket, in a directory that this process alone manages.
///
/// Dropping it stops the server and waits until it has ended. [`Postgres::stop`] also returns the error.
pub struct Postgres {
    server: Option<PostgresServer>,
    socket: Socket,
    // Held until the server has ended, so that the next manager does not find it half stopped.
    _directory: Directory,
}

impl Postgres {
    /// Starts the server of `directory`, or adopts the server that is still running there. The first start creates the
    /// cluster. Blocks for seconds at the first start, and for minutes after a crash during heavy writes.
    ///
    /// `directory` must be used only by Postgres. Programs that must be downloaded are kept in `cache`. If this process
    /// is root, the server runs as another user, who must be able to traverse all parents of both directories.
    /// `progress` receives a line whenever a wait begins.
    pub fn start(
        directory: &Path,
        cache: &Path,
        settings: PostgresSettings,
        progress: &dyn Fn(&str),
    ) -> Result<Self, PostgresError> {
        let directory = Directory::claim(directory)?;
        let account = Account::choose(&directory.cluster())?;
        account.admit(directory.path(), false)?;
        account.check_reach(directory.path())?;

        let version = cluster::version(&directory)?;
        let binaries = binaries::ProgramSearch {
            explicit: std::env::var_os("SKILLET_PG_BIN").map(Into::into),
            installed: binaries::installed(),
            cache,
            account: &account,
        }
        .find(directory.path(), version, progress)?;

        if version.is_none() {
            progress(&format!(
                "creating a PostgreSQL {} database",
                binaries.major
            ));
            cluster::create(&directory, &account, &binaries, settings)?;
        }
        let socket = Socket::prepare(&directory, &account)?;
        let server = PostgresServer::start(
            &Launch {
                directory: &directory,
                socket: &socket,
                account: &account,
                binaries: &binaries,
                settings,
            },
            progress,
        )?;
        Ok(Self {
            server: Some(server),
            socket,
            _directory: directory,
        })
    }

    /// The URL of the named database. The database need not exist; `postgres` always does.
    pub fn url(&self, database: &str) -> String {
        self.socket.url(database)
    }

    /// Stops the server: closes the connections and shuts the cluster down cleanly. A server that does not stop in time
    /// is killed. This loses no data, but the next start recovers the cluster.
    pub fn stop(mut self) -> Result<(), PostgresError> {
        self.stop_once()
    }

    fn stop_once(&mut self) -> Result<(), PostgresError> {
        let Some(server) = self.server.take() else {
            return Ok(());
        };
        server.stop()?;
        self.socket.remove();
        Ok(())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        if let Err(error) = self.stop_once() {
            tracing::warn!(%error, "postgres was not stopped");
        }
    }
}

/// The directories of this machine that contain the programs of PostgreSQL, the preferred one first.
pub fn installed() -> Vec<PathBuf> {
    binaries::installed()
}

#[cfg(test)]
mod tests;
