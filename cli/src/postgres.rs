//! The embedded Postgres: a private server that Skillet starts, adopts and stops.
//!
//! It listens on a Unix socket in a private directory and nowhere else, so every user who
//! can open the socket is trusted. Nothing that a crash leaves behind needs a hand: a server that outlived
//! its Skillet is adopted, a pid file that outlived its server is seen through, and a half-made
//! cluster is made again.

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
/// Dropping it stops the server and waits for that; [`Postgres::stop`] also tells how it went.
pub struct Postgres {
    server: Option<PostgresServer>,
    socket: Socket,
    // Held until the server is down: the next manager must not find it half stopped.
    _directory: Directory,
}

impl Postgres {
    /// Starts the server of `directory`, creating its cluster the first time, or adopts the one
    /// that is still running there. Blocks, for seconds the first time and for minutes after a
    /// crash in the middle of heavy writing.
    ///
    /// `directory` is for Postgres alone. As root the server runs as another user, who must be
    /// able to pass through every directory above it, and above `cache`, where the programs are
    /// kept should they have to be downloaded. `progress` gets a line whenever a wait begins.
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

    /// The URL of the named database, which need not exist; `postgres` always does.
    pub fn url(&self, database: &str) -> String {
        self.socket.url(database)
    }

    /// Stops the server: connections are closed and the cluster is left clean, unless it does not
    /// obey in time and has to be killed. That loses nothing either, but the next start recovers.
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

/// The directories of this machine that hold the programs of a PostgreSQL, the preferred one first.
pub fn installed() -> Vec<PathBuf> {
    binaries::installed()
}

#[cfg(test)]
mod tests;
