//! The service under measure.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use cli::postgres::{Postgres, Settings};
use shared::db;
use shared::key::{Scope, SecretKey};
use sqlx::PgPool;
use tempfile::TempDir;

/// A database, an API and workers.
pub(crate) struct Service {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) api: Process,
    pub(crate) workers: Vec<Process>,
    pool: PgPool,
    environment: Vec<(&'static str, String)>,
    home: TempDir,
    // Last, so that it outlives those who are connected.
    _postgres: Postgres,
}

impl Service {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let home = tempfile::tempdir()?;
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(home.path(), open)?;
        let directory = home.path().join("postgres");
        let progress = |line: &str| eprintln!("{line}");
        // Durable, as it would run for its users.
        let starting = move || {
            Postgres::start(
                &directory,
                &std::env::temp_dir(),
                Settings { durable: true },
                &progress,
            )
        };
        let postgres = tokio::task::spawn_blocking(starting).await??;
        db::create_database(&postgres.url("postgres"), "skillet").await?;
        let database_url = postgres.url("skillet");
        let pool = db::connect(&database_url, "bench", 2).await?;
        db::migrate(&pool).await?;
        let key = SecretKey::generate();
        let tenant = db::tenant::get_or_insert(&pool, "bench").await?;
        db::key::insert(&pool, tenant.id, "bench", &[Scope::Jobs], &key).await?;
        let environment = vec![
            ("DATABASE_URL", database_url),
            (
                "SKILLET_ASSETS",
                home.path().join("assets").display().to_string(),
            ),
        ];
        let mut api = Process::start(
            &["api", "--listen", "127.0.0.1:0"],
            &environment,
            &home.path().join("api"),
        )?;
        let line = api.first_line()?;
        let url = line
            .strip_prefix("listening on ")
            .context("the API did not start")?
            .to_owned();
        let key = key.reveal().to_owned();
        Ok(Self {
            url,
            key,
            api,
            workers: Vec::new(),
            pool,
            environment,
            home,
            _postgres: postgres,
        })
    }

    /// Adds a worker and waits until it is there.
    pub(crate) async fn add_worker(&mut self) -> anyhow::Result<()> {
        let home = self
            .home
            .path()
            .join(format!("worker-{}", self.workers.len()));
        self.workers
            .push(Process::start(&["worker"], &self.environment, &home)?);
        while db::worker::list(&self.pool).await?.len() < self.workers.len() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // What a process does once at its start is not what we measure.
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok(())
    }

    /// From a job's acceptance to its `job.started`, both committed, in milliseconds, of every job.
    pub(crate) async fn start_delays(&self) -> anyhow::Result<Vec<f64>> {
        let delays = sqlx::query_scalar(
            "select (extract(epoch from started.at - queued.at) * 1000)::float8
             from job_event as queued
             join job_event as started using (job_id)
             where queued.type = 'job.queued' and started.type = 'job.started'",
        );
        Ok(delays.fetch_all(&self.pool).await?)
    }

    /// Empties the tables, between two measurements.
    pub(crate) async fn forget_jobs(&self) -> anyhow::Result<()> {
        sqlx::query("truncate job, job_event")
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

/// A process of the service, killed when dropped.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    fn start(
        arguments: &[&str],
        environment: &[(&str, String)],
        home: &Path,
    ) -> anyhow::Result<Self> {
        let child = Command::new(std::env::current_exe()?)
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (*name, value)))
            .env("SKILLET_DATA_DIR", home)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Self { child })
    }

    fn first_line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().context("piped")?).read_line(&mut line)?;
        Ok(line.trim().to_owned())
    }

    /// Resident memory.
    pub(crate) fn rss_mib(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))
            .context("no VmRSS")?;
        let kib: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kib / 1024.0)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
