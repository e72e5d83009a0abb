//! The whole service in one process: a database, an API and a worker.

mod components;
mod lock;
mod service_file;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use shared::db::{self, DatabaseSettings, Pool};
use shared::key::{Scope, SecretKey};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;
use worker::Shutdown;

use crate::args::Up;
use crate::config::Config;
use crate::directory;
use crate::master_key::KeyFile;
use crate::postgres::{Postgres, PostgresSettings};

pub(crate) use components::{Components, MAX_API_CONNECTIONS, MAX_WORKER_CONNECTIONS};
pub(crate) use lock::DirectoryLock;
pub(crate) use service_file::ServiceFile;

const READY_TIMEOUT: Duration = Duration::from_secs(30);

/// The whole service in this process.
pub(crate) struct Service {
    /// The address and the API key of the service.
    pub(crate) file: ServiceFile,
    service_path: PathBuf,
    api: AbortOnDropHandle<anyhow::Result<()>>,
    worker: AbortOnDropHandle<anyhow::Result<()>>,
    stop_api: CancellationToken,
    shutdown: Shutdown,
    // Dropped in this order, so that the database ends before the directory is unlocked.
    postgres: Option<Postgres>,
    _lock: DirectoryLock,
}

impl Service {
    /// Starts all parts in the locked directory, and returns when jobs can run. `progress` receives a line whenever a
    /// wait begins.
    pub(crate) async fn start(
        options: Up,
        config: &Config,
        lock: DirectoryLock,
        shutdown: &Shutdown,
        progress: fn(&str),
    ) -> anyhow::Result<Self> {
        // Child tokens, so that the service can cancel them without cancelling the caller's tokens.
        let shutdown = Shutdown {
            drain: shutdown.drain.child_token(),
            leave: shutdown.leave.child_token(),
        };
        let mut components = Components::open(&options.own.common, config).await?;
        // A port in use is reported before a database is created.
        let listener = listen(options.listen.listen)?;
        let metrics_listener = options.metrics.metrics_listen.map(listen).transpose()?;
        if components.master_keys.is_none() {
            components.master_keys = Some(KeyFile::of(&components.home).read_or_make()?);
        }
        let named = options.own.database_url.as_deref();
        let named = named.map(|url| options.own.pooler.settings(url));
        let (postgres, database) = open_database(&components.home, named, progress).await?;
        let pool = database
            .connect("skillet up", 2)
            .await
            .context("cannot reach the database")?;
        let api_key = match prepare(&pool, &components.home).await {
            Ok(api_key) => api_key,
            Err(error) => {
                // The pool is closed before its server stops.
                pool.close().await;
                return Err(error);
            }
        };
        let file = ServiceFile::new(listener.local_addr()?, api_key);
        let service_path = ServiceFile::path(&components.home);
        let stop_api = CancellationToken::new();
        let components = Arc::new(components);
        let origins = options.listen.origins();
        let api = AbortOnDropHandle::new(tokio::spawn({
            let (components, database, stop) =
                (components.clone(), database.clone(), stop_api.clone());
            async move {
                components
                    .run_api(&database, listener, origins, metrics_listener, stop)
                    .await
            }
        }));
        let worker = AbortOnDropHandle::new(tokio::spawn({
            let (components, database, shutdown) =
                (components.clone(), database.clone(), shutdown.clone());
            async move {
                let (slots, sandbox) = (&options.slots, &options.own.sandbox);
                let running = components.run_worker(&database, slots, sandbox, shutdown);
                running.await
            }
        }));
        let mut service = Self {
            file,
            service_path,
            api,
            worker,
            stop_api,
            shutdown,
            postgres,
            _lock: lock,
        };
        let ready = service.wait_until_ready(&pool, &components.home).await;
        pool.close().await;
        if let Err(error) = ready {
            service.stop_now();
            // The first error is the one to report.
            let _ = service.stop().await;
            return Err(error);
        }
        // The last step, because a process that finds the file may use the service.
        service.file.write(&service.service_path)?;
        Ok(service)
    }

    async fn wait_until_ready(&mut self, pool: &Pool, home: &Path) -> anyhow::Result<()> {
        let home = home.display().to_string();
        let ready = async {
            while !db::worker::list(pool)
                .await?
                .iter()
                .any(|worker| worker.home == home)
            {
                // A part that ends now returns its error.
                if self.worker.is_finished() || self.api.is_finished() {
                    self.wait().await?;
                    anyhow::bail!("a part of the service ended during startup");
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(())
        };
        tokio::time::timeout(READY_TIMEOUT, ready)
            .await
            .context("the worker did not start in time")?
    }

    /// Waits until the worker or the API ends. Without a shutdown, they end only on an error.
    pub(crate) async fn wait(&mut self) -> anyhow::Result<()> {
        tokio::select! {
            ended = &mut self.worker => ended?,
            ended = &mut self.api => ended?,
        }
    }

    /// Makes the shutdown immediate: jobs are handed back to the queue in the middle of their work.
    pub(crate) fn stop_now(&self) {
        self.shutdown.leave.cancel();
    }

    /// Stops the parts in order: the worker hands its jobs back, then the API ends, then the database.
    pub(crate) async fn stop(mut self) -> anyhow::Result<()> {
        self.shutdown.drain.cancel();
        let worked = if self.worker.is_finished() {
            Ok(())
        } else {
            (&mut self.worker).await?
        };
        self.stop_api.cancel();
        let served = if self.api.is_finished() {
            Ok(())
        } else {
            (&mut self.api).await?
        };
        // The file may already be gone.
        let _ = std::fs::remove_file(&self.service_path);
        if let Some(postgres) = self.postgres.take() {
            tokio::task::spawn_blocking(|| postgres.stop()).await??;
        }
        worked.and(served)
    }
}

/// Listens on an address.
pub(crate) fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))
}

/// Opens the named database, or starts a private one.
pub(crate) async fn open_database(
    home: &Path,
    named: Option<DatabaseSettings>,
    progress: fn(&str),
) -> anyhow::Result<(Option<Postgres>, DatabaseSettings)> {
    if let Some(named) = named {
        named.check().await?;
        return Ok((None, named));
    }
    let (home, cache) = (home.join("postgres"), directory::cache()?);
    let starting = move || Postgres::start(&home, &cache, PostgresSettings::default(), &progress);
    let postgres = tokio::task::spawn_blocking(starting).await??;
    db::create_database(&postgres.url("postgres"), "skillet").await?;
    let own = DatabaseSettings::direct(&postgres.url("skillet"));
    Ok((Some(postgres), own))
}

/// Migrates the database, and returns the API key of the directory's owner.
async fn prepare(pool: &Pool, home: &Path) -> anyhow::Result<String> {
    db::migrate(pool).await?;
    // This process holds the lock of the directory, so earlier workers in it have ended.
    db::worker::stop_home(pool, &home.display().to_string()).await?;
    own_key(pool, home).await
}

/// The API key of the directory's owner, with the scopes `jobs` and `admin`. It is kept across restarts.
async fn own_key(pool: &Pool, home: &Path) -> anyhow::Result<String> {
    let file = home.join("api_key");
    if let Ok(text) = std::fs::read_to_string(&file)
        && db::key::get_by_secret(pool, text.trim()).await?.is_some()
    {
        return Ok(text.trim().to_owned());
    }
    let key = SecretKey::generate();
    let tenant = db::tenant::get_or_insert(pool, "default").await?;
    db::key::insert(pool, tenant.id, "owner", &[Scope::Jobs, Scope::Admin], &key).await?;
    directory::write_private(&file, key.reveal())?;
    Ok(key.reveal().to_owned())
}
