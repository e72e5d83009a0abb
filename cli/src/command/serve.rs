use anyhow::Context;
use shared::db;

use super::print;
use crate::Exit;
use crate::args::{Api, Database, Up, Worker};
use crate::config::Config;
use crate::directory;
use crate::service::{self, Parts, Place, Service};
use crate::shutdown;

/// `skillet up`
pub(super) async fn up(options: Up, config: &Config) -> anyhow::Result<Exit> {
    let (shutdown, listening) = shutdown::on_signals()?;
    let signals = tokio::spawn(listening);
    let home = directory::data(options.own.common.home.data_dir.as_deref())?;
    let starting = Service::start(options, config, shutdown.clone(), |line| {
        eprintln!("{line}");
    });
    let mut service = tokio::select! {
        started = starting => started?,
        () = shutdown.drain.cancelled() => return Ok(Exit::Interrupted),
    };
    print(&format!("Skillet is ready at {}", service.place.url));
    print(&format!(
        "The API is documented at {}/docs",
        service.place.url
    ));
    print(&format!(
        "The key is in {}, and with the URL in {}",
        home.join("api_key").display(),
        Place::file(&home).display()
    ));
    let ended = tokio::select! {
        ended = service.wait() => ended,
        () = shutdown.drain.cancelled() => Ok(()),
    };
    eprintln!("stopping; once more to hurry");
    let stopped = service.stop().await;
    signals.abort();
    ended.and(stopped)?;
    Ok(Exit::Done)
}

/// `skillet api`
pub(super) async fn api(options: Api, config: &Config) -> anyhow::Result<Exit> {
    let (shutdown, listening) = shutdown::on_signals()?;
    let signals = tokio::spawn(listening);
    let parts = Parts::open(&options.common, config)?;
    let listener = service::listen(&options.listen)?;
    print(&format!("listening on http://{}", listener.local_addr()?));
    parts
        .run_api(&options.database.database_url, listener, shutdown.drain)
        .await?;
    signals.abort();
    Ok(Exit::Done)
}

/// `skillet worker`
pub(super) async fn worker(options: Worker, config: &Config) -> anyhow::Result<Exit> {
    let (shutdown, listening) = shutdown::on_signals()?;
    let signals = tokio::spawn(listening);
    let parts = Parts::open(&options.common, config)?;
    parts
        .run_worker(
            &options.database.database_url,
            &options.slots,
            &options.sandbox,
            shutdown,
        )
        .await?;
    signals.abort();
    Ok(Exit::Done)
}

/// `skillet migrate`
pub(super) async fn migrate(options: &Database) -> anyhow::Result<Exit> {
    let pool = db::connect(&options.database_url, "skillet migrate", 1)
        .await
        .context("cannot reach the database")?;
    db::migrate(&pool).await?;
    print("the schema is up to date");
    Ok(Exit::Done)
}
