//! The Postgres server of a run, on which everything is measured.

use std::path::Path;

use cli::postgres::{Postgres, PostgresSettings};
use shared::db::{self, Pool};
use tempfile::TempDir;

use crate::process::{cpu_seconds_of_tree, parent_of};

/// A private database server with the settings that users get, and a directory for the measured services.
pub(crate) struct Server {
    postgres: Postgres,
    postmaster: u32,
    // The last field, so that it is dropped after the fields whose files are in it.
    home: TempDir,
}

/// Enough connections for the largest fleet without a pooler.
const MAX_CONNECTIONS: u16 = 3000;

impl Server {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        // The server may run as another user, who must be able to pass through.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(home.path(), open)?;
        let directory = home.path().join("postgres");
        let progress = |line: &str| eprintln!("{line}");
        // With durable writes, as users run it.
        let settings = PostgresSettings {
            max_connections: MAX_CONNECTIONS,
            ..PostgresSettings::default()
        };
        let cache = std::env::temp_dir();
        let starting = move || Postgres::start(&directory, &cache, settings, &progress);
        let postgres = tokio::task::spawn_blocking(starting).await??;
        let pool = db::connect(&postgres.url("postgres"), "bench", 1).await?;
        let backend: i32 = sqlx::query_scalar("select pg_backend_pid()")
            .fetch_one(&pool)
            .await?;
        // The connection is still open, so its backend exists.
        let postmaster = parent_of(backend.unsigned_abs())?;
        pool.close().await;
        Ok(Self {
            postgres,
            postmaster,
            home,
        })
    }

    /// Creates an empty database, and returns its URL.
    pub(crate) async fn empty_database(&self, name: &str) -> anyhow::Result<String> {
        db::create_database(&self.postgres.url("postgres"), name).await?;
        Ok(self.postgres.url(name))
    }

    /// Creates a database with the schema, and connects to it.
    pub(crate) async fn database(
        &self,
        name: &str,
        connections: u32,
    ) -> anyhow::Result<(String, Pool)> {
        let url = self.empty_database(name).await?;
        let pool = db::connect(&url, "bench", connections).await?;
        db::migrate(&pool).await?;
        Ok((url, pool))
    }

    /// Returns the CPU time of the server's processes.
    pub(crate) fn cpu_seconds(&self) -> anyhow::Result<f64> {
        cpu_seconds_of_tree(self.postmaster)
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }
}
