//! `skillet up`, `skillet api`, `skillet worker` and `skillet migrate`.

use std::net::TcpListener;

use anyhow::Context;
use api::metrics::Scrape;
use api::worker_probe::WorkerProbe;
use shared::db;
use shared::provider::Providers;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::args::{Api, Database, MetricsListen, Up, WorkerOptions};
use crate::config::Config;
use crate::directory;
use crate::exit::Exit;
use crate::service::{self, Components, DirectoryLock, Service, ServiceFile};
use crate::shutdown;
use crate::terminal::{print, say};

/// `skillet up`
pub(super) async fn up(options: Up, config: &Config) -> anyhow::Result<Exit> {
    let (shutdown, listening) = shutdown::on_signals()?;
    let _signals = AbortOnDropHandle::new(tokio::spawn(listening));
    let home = directory::data(options.own.common.home.data_dir.as_deref())?;
    let lock = DirectoryLock::take(&home)?;
    let providers = config.providers(None);
    let starting = Service::start(options, config, lock, &shutdown, say);
    let mut service = tokio::select! {
        started = starting => started?,
        () = shutdown.drain.cancelled() => return Ok(Exit::Interrupted),
    };
    announce(&format!("Skillet is ready at {}", service.file.url));
    announce(&format!(
        "The console is at {}/console/ and `skillet open` signs you in",
        service.file.url
    ));
    announce(&format!(
        "The API is documented at {}/docs",
        service.file.url
    ));
    announce(&format!(
        "The key is in {}, and with the URL in {}",
        home.join("api_key").display(),
        ServiceFile::path(&home).display()
    ));
    announce(&models(&providers));
    let ended = tokio::select! {
        ended = service.wait() => ended,
        () = shutdown.drain.cancelled() => Ok(()),
    };
    say("stopping; interrupt again to stop at once");
    let stopped = service.stop().await;
    ended.and(stopped)?;
    Ok(Exit::Done)
}

/// The line about model providers: which are ready, and which variables the others need.
fn models(providers: &Providers) -> String {
    let state = |name: &String| match providers.missing_variable(name) {
        None => format!("{name} ✓"),
        Some(variable) => format!("{name} ✗ (set {variable})"),
    };
    let states: Vec<_> = providers.names().iter().map(state).collect();
    format!("Models: {}", states.join(", "))
}

/// `skillet api`
pub(super) async fn api(options: Api, config: &Config) -> anyhow::Result<Exit> {
    let (shutdown, listening) = shutdown::on_signals()?;
    let _signals = AbortOnDropHandle::new(tokio::spawn(listening));
    let components = Components::open(&options.common, config).await?;
    let listener = service::listen(options.listen.listen)?;
    let database = options.database.settings();
    database.check().await?;
    announce(&format!("listening on http://{}", listener.local_addr()?));
    let metrics = listen_for_metrics(&options.metrics)?;
    components
        .run_api(
            &database,
            listener,
            options.listen.origins(),
            metrics,
            shutdown.drain,
        )
        .await?;
    Ok(Exit::Done)
}

/// `skillet worker`
pub(super) async fn worker(options: WorkerOptions, config: &Config) -> anyhow::Result<Exit> {
    let (shutdown, listening) = shutdown::on_signals()?;
    let _signals = AbortOnDropHandle::new(tokio::spawn(listening));
    let components = Components::open(&options.common, config).await?;
    let database = options.database.settings();
    database.check().await?;
    let stop_metrics = CancellationToken::new();
    let metrics = match listen_for_metrics(&options.metrics)? {
        Some(listener) => {
            let scrape = Scrape::of(components.metrics.clone());
            let probe = WorkerProbe {
                pool: database.connect("skillet probe", 1).await?,
                registered: components.registered.clone(),
                drain: shutdown.drain.clone(),
            };
            Some(AbortOnDropHandle::new(tokio::spawn(api::metrics::serve(
                scrape,
                Some(probe),
                listener,
                stop_metrics.clone(),
            ))))
        }
        None => None,
    };
    components
        .run_worker(&database, &options.slots, &options.sandbox, shutdown)
        .await?;
    // Metrics are served until the worker has ended, so that its drain can be observed.
    stop_metrics.cancel();
    if let Some(metrics) = metrics {
        metrics.await??;
    }
    Ok(Exit::Done)
}

fn listen_for_metrics(options: &MetricsListen) -> anyhow::Result<Option<TcpListener>> {
    let listener = options.metrics_listen.map(service::listen).transpose()?;
    if let Some(listener) = &listener {
        announce(&format!(
            "metrics at http://{}/metrics",
            listener.local_addr()?
        ));
    }
    Ok(listener)
}

/// Prints a line. Errors are ignored: the service continues if standard output is closed.
fn announce(line: &str) {
    let _ = print(line);
}

/// `skillet migrate`
pub(super) async fn migrate(options: &Database) -> anyhow::Result<Exit> {
    let database = options.settings();
    database.check().await?;
    let pool = database
        .connect("skillet migrate", 1)
        .await
        .context("cannot reach the database")?;
    db::migrate(&pool).await?;
    print("the schema is up to date")?;
    Ok(Exit::Done)
}
