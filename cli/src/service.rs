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

pub(crate) use components::{Components, MOST_OF_API, MOST_OF_WORKER};
pub(crate) use lock::DirectoryLock;
pub(crate) use service_file::ServiceFile;

const READY_PATIENCE: Duration = Duration::from_secs(30);

/// The whole service in this process.
pub(crate) struct Service {
    /// Where it is and what opens it.
    pub(crate) file: ServiceFile,
    service_path: PathBuf,
    api: AbortOnDropHandle<anyhow::Result<()>>,
    worker: AbortOnDropHandle<anyhow::Result<()>>,
    stop_api: CancellationToken,
    shutdown: Shutdown,
    // Dropped in this order: the database ends before the directory is free for others.
    postgres: Option<Postgres>,
    _lock: DirectoryLock,
}

impl Service {
    /// Starts everything in the directory of the lock, and returns when jobs can run. `progress` gets a line whenever
    /// a wait begins.
    pub(crate) async fn start(
        options: Up,
        config: &Config,
        lock: DirectoryLock,
        shutdown: &Shutdown,
        progress: fn(&str),
    ) -> anyhow::Result<Self> {
        // Child tokens, so that an end of the service by itself does not cancel the caller's.
        let shutdown = Shutdown {
            drain: shutdown.drain.child_token(),
            leave: shutdown.leave.child_token(),
        };
        let mut components = Components::open(&options.own.common, config).await?;
        // A port that is taken is said before a database is made.
        let listener = listen(options.listen.listen)?;
        let metrics_listener = options.metrics.metrics_listen.map(listen).transpose()?;
        if components.master_keys.is_none() {
            components.master_keys = Some(KeyFile::of(&components.home).read_or_make()?);
        }
        let named = options.own.database_url.as_deref();
        let named = named.map(|url| options.own.way.to(url));
        let (postgres, database) = open_database(&components.home, named, progress).await?;
        let pool = database
            .connect("skillet up", 2)
            .await
            .context("cannot reach the database")?;
        let api_key = match prepare(&pool, &components.home).await {
            Ok(api_key) => api_key,
            Err(error) => {
                // Before its server goes.
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
            // What went wrong first is what matters.
            let _ = service.stop().await;
            return Err(error);
        }
        // The last step: a process that finds the file can use the service.
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
                // A part that ends now says why.
                if self.worker.is_finished() || self.api.is_finished() {
                    self.wait().await?;
                    anyhow::bail!("a part of the service ended at its start");
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            Ok(())
        };
        tokio::time::timeout(READY_PATIENCE, ready)
            .await
            .context("the worker did not start in time")?
    }

    /// Waits until a part ends, which none does by itself unless it was told to.
    pub(crate) async fn wait(&mut self) -> anyhow::Result<()> {
        tokio::select! {
            ended = &mut self.worker => ended?,
            ended = &mut self.api => ended?,
        }
    }

    /// Makes the end a quick one: jobs are handed back in the middle of whatever they do.
    pub(crate) fn stop_now(&self) {
        self.shutdown.leave.cancel();
    }

    /// Ends in order: the worker hands its jobs back, then the API goes, then the database.
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
        // Someone else may have begun with another place meanwhile.
        let _ = std::fs::remove_file(&self.service_path);
        if let Some(postgres) = self.postgres.take() {
            tokio::task::spawn_blocking(|| postgres.stop()).await??;
        }
        worked.and(served)
    }
}

/// Listens where that was asked for.
pub(crate) fn listen(address: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address).with_context(|| format!("cannot listen on {address}"))
}

/// The database that was named, or a private one.
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

/// Brings the database up to date, and returns the key of the directory's owner.
async fn prepare(pool: &Pool, home: &Path) -> anyhow::Result<String> {
    db::migrate(pool).await?;
    // This process has the lock of the directory, so earlier workers in it have ended.
    db::worker::stop_home(pool, &home.display().to_string()).await?;
    own_key(pool, home).await
}

/// The key of this directory's owner, who may do everything. It stays the same over restarts.
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
