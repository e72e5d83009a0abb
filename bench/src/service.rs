//! The measured service: real processes and a separate database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use shared::db::{self, Pool};
use shared::key::{Scope, SecretKey};
use tokio::time::{sleep, timeout};

use crate::process::Process;
use crate::server::Server;

/// The timeout for a state that jobs must reach.
const TIMEOUT: Duration = Duration::from_secs(120);

/// An API, its workers, and an API key.
pub(crate) struct Service {
    pub(crate) url: String,
    pub(crate) key: String,
    pub(crate) api: Process,
    pub(crate) workers: Vec<Process>,
    more_apis: Vec<Process>,
    pub(crate) pool: Pool,
    environment: Vec<(&'static str, String)>,
    home: PathBuf,
    worker_homes: usize,
}

impl Service {
    /// Starts an API without workers. `name` distinguishes the service from the others of this run.
    pub(crate) async fn start(server: &Server, name: &str) -> anyhow::Result<Self> {
        Self::with_environment(server, name, &[]).await
    }

    /// Starts an API with additional environment variables, which its workers get, too.
    pub(crate) async fn with_environment(
        server: &Server,
        name: &str,
        more: &[(&'static str, String)],
    ) -> anyhow::Result<Self> {
        let (database_url, pool) = server.database(name, 8).await?;
        let home = server.home().join(format!("service-{name}"));
        let key = create_key(&pool, "bench").await?;
        let assets = home.join("assets").display().to_string();
        let mut environment = vec![("DATABASE_URL", database_url), ("SKILLET_ASSETS", assets)];
        environment.extend_from_slice(more);
        let (api, url) = start_api(&environment, &home)?;
        Ok(Self {
            url,
            key,
            api,
            workers: Vec::new(),
            more_apis: Vec::new(),
            pool,
            environment,
            home,
            worker_homes: 0,
        })
    }

    pub(crate) fn database_url(&self) -> &str {
        let mut variables = self.environment.iter();
        let url = variables.find(|(name, _)| *name == "DATABASE_URL");
        url.map_or("", |(_, url)| url)
    }

    /// Creates an API key of another tenant.
    pub(crate) async fn key_of(&self, tenant: &str) -> anyhow::Result<String> {
        create_key(&self.pool, tenant).await
    }

    /// Starts an API with one worker, and waits until the worker has finished its start-up work.
    pub(crate) async fn with_worker(server: &Server, name: &str) -> anyhow::Result<Self> {
        let mut service = Self::start(server, name).await?;
        service.add_worker(&[]).await?;
        service.settle().await?;
        Ok(service)
    }

    /// Adds an API, and returns its URL.
    pub(crate) fn add_api(&mut self) -> anyhow::Result<String> {
        let (api, url) = start_api(&self.environment, &self.home)?;
        self.more_apis.push(api);
        Ok(url)
    }

    /// Adds a worker with additional environment variables, and waits until it is registered.
    pub(crate) async fn add_worker(
        &mut self,
        environment: &[(&'static str, String)],
    ) -> anyhow::Result<()> {
        let process = self.start_worker(environment)?;
        let name = format!(":{}", process.id());
        self.workers.push(process);
        loop {
            let workers = db::worker::list(&self.pool).await?;
            if workers.iter().any(|worker| worker.name.ends_with(&name)) {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
        sleep(Duration::from_secs(1)).await;
        Ok(())
    }

    /// Waits until the workers have asked all programs for their versions, which they do once. That would distort a
    /// short measurement.
    pub(crate) async fn settle(&self) -> anyhow::Result<()> {
        let settled = "select count(*) from worker where program_versions <> '{}'";
        // The timeout of `until` applies to every ten workers, because workers on one machine wait for one another.
        for workers in (0..self.workers.len()).step_by(10) {
            self.until(settled, workers + 1).await?;
        }
        self.until(settled, self.workers.len()).await
    }

    /// Starts a worker with additional environment variables.
    pub(crate) fn start_worker(
        &mut self,
        environment: &[(&'static str, String)],
    ) -> anyhow::Result<Process> {
        // Each worker gets a new directory, because earlier workers may have used the others.
        self.worker_homes += 1;
        let home = self.home.join(format!("worker-{}", self.worker_homes));
        let environment = [&self.environment, environment].concat();
        Process::start(&["worker"], &environment, &home)
    }

    /// Waits until a query counts at least this many.
    pub(crate) async fn until(&self, count: &'static str, at_least: usize) -> anyhow::Result<()> {
        let reached = async {
            while sqlx::query_scalar::<_, i64>(count)
                .fetch_one(&self.pool)
                .await?
                < at_least as i64
            {
                sleep(Duration::from_millis(50)).await;
            }
            anyhow::Ok(())
        };
        let reached = timeout(TIMEOUT, reached).await;
        reached.with_context(|| format!("timed out waiting for {at_least}: {count}"))?
    }

    /// Pauses or resumes the queue.
    pub(crate) async fn set_paused(&self, paused: bool) -> anyhow::Result<()> {
        let update = sqlx::query("update queue set paused = $1").bind(paused);
        update.execute(&self.pool).await?;
        Ok(())
    }

    /// Empties the tables between two measurements.
    pub(crate) async fn forget_jobs(&self) -> anyhow::Result<()> {
        sqlx::query("truncate job, run, job_end, job_event, job_delta cascade")
            .execute(&self.pool)
            .await?;
        Ok(())
    }
}

async fn create_key(pool: &Pool, tenant: &str) -> anyhow::Result<String> {
    let key = SecretKey::generate();
    let tenant = db::tenant::get_or_insert(pool, tenant).await?;
    db::key::insert(pool, tenant.id, "bench", &[Scope::Jobs], &key).await?;
    Ok(key.reveal().to_owned())
}

fn start_api(
    environment: &[(&'static str, String)],
    home: &Path,
) -> anyhow::Result<(Process, String)> {
    let arguments = ["api", "--listen", "127.0.0.1:0"];
    let mut api = Process::start(&arguments, environment, &home.join("api"))?;
    let line = api.first_line()?;
    let url = line.strip_prefix("listening on ");
    let url = url.context("the API did not start")?.to_owned();
    Ok((api, url))
}
