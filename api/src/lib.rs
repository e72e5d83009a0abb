//! The HTTP API: accepts jobs and files, and reports their progress and results.

// Futures are moved and allocated for each request and statement. The limit is in `clippy.toml`.
#![warn(clippy::large_futures)]

mod auth;
mod body;
mod compress;
mod connection;
mod console;
mod cors;
mod cursor;
pub mod dispatcher;
mod docs;
mod etag;
mod event_schema;
mod fallback;
mod feed_follower;
mod feed_hub;
mod follower;
mod form;
mod frame;
mod head;
mod header;
mod health;
mod hub;
mod job_writer;
mod key_watch;
pub mod metrics;
mod name;
mod number;
pub mod openapi;
pub mod origin;
pub mod problem;
mod query;
mod request_id;
mod routes;
pub mod scheduler;
mod telemetry;
mod unversioned;
mod v1;
mod webhook_secret;
pub mod webhook_target;
pub mod worker_probe;

use std::net::TcpListener;

use actix_web::middleware::from_fn;
use actix_web::web::{Data, PathConfig, ServiceConfig};
use actix_web::{App, HttpServer, web};
use shared::asset::AssetStore;
use shared::db::{self, EVENTS_CHANNEL, FEED_CHANNEL, Notifications, Notifier, Pool};
use shared::open_files;
use shared::provider::Providers;
use shared::secret::MasterKeys;
use shared::skill::Catalog;
use shared::telemetry::metrics::Metrics;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing_actix_web::TracingLogger;

pub use crate::job_writer::JobWriter;

use crate::auth::KeyReader;
use crate::fallback::Methods;
use crate::feed_hub::FeedHub;
use crate::hub::Hub;
use crate::key_watch::KeyWatch;
use crate::metrics::Scrape;
use crate::openapi::Rendered;
use crate::origin::Origins;
use crate::request_id::RequestSpan;
use crate::telemetry::ApiMeters;
use crate::v1::skills::Unpacker;
use crate::webhook_target::WebhookTargets;

/// The time that requests have to finish at shutdown. Streams are closed, and their clients resume on another process.
const SHUTDOWN_SECONDS: u64 = 5;

/// The settings of an API process.
pub struct ApiSettings {
    /// The connection pool of the database.
    pub pool: Pool,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The listener that serves `/metrics` without an API key.
    pub metrics_listener: Option<TcpListener>,
    /// The asset store.
    pub assets: AssetStore,
    /// The skills that jobs can name.
    pub catalog: Catalog,
    /// The providers that models can name.
    pub providers: Providers,
    /// The master keys that encrypt secrets. Without them, secrets are not available.
    pub master_keys: Option<MasterKeys>,
    /// The policy for the addresses of webhooks.
    pub webhook_targets: WebhookTargets,
    /// The web origin of the service, and the origins that may call the API.
    pub origins: Origins,
    /// The number of threads that handle requests.
    pub threads: usize,
}

/// Serves the API until `shutdown` is cancelled.
pub async fn run(
    settings: ApiSettings,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let ApiSettings {
        pool,
        metrics,
        metrics_listener,
        assets,
        catalog,
        providers,
        master_keys,
        webhook_targets,
        origins,
        threads,
    } = settings;
    // The clock is read before the first id is generated.
    db::through_outage(|| shared::clock::sync::read(&pool)).await?;
    prepare_tables(&pool).await?;
    metrics.watch("api", &pool);
    let meters = ApiMeters::new(&metrics);
    let scrape = Scrape::with_queue(metrics.clone(), pool.clone());
    let (notifier, notifying) = Notifier::new(&pool);
    let keys = KeyWatch::default();
    let (key_reader, reading_keys) = KeyReader::new(&pool);
    let mut background = JoinSet::new();
    let (hub, feed) = start_hubs(&mut background, &pool, &meters);
    if let Some(listener) = metrics_listener {
        background.spawn(serve_metrics(scrape.clone(), listener, shutdown.clone()));
    }
    background.spawn(shared::clock::sync::keep(pool.clone()));
    background.spawn(notifying);
    background.spawn(reading_keys);
    background.spawn(keys.clone().run(pool.clone()));
    let (writer, writing) = JobWriter::new(&pool);
    background.spawn(writing);

    let document = openapi::document();
    let rendered = Data::new(Rendered::of(&document)?);
    let (pool, assets) = (Data::new(pool), Data::new(assets));
    let asset_store = assets.clone();
    let (catalog, providers) = (Data::new(catalog), Data::new(providers));
    let (hub, notifier, keys) = (Data::new(hub), Data::new(notifier), Data::new(keys));
    let (writer, feed, key_reader) = (Data::new(writer), Data::new(feed), Data::new(key_reader));
    let (meters, metrics, scrape) = (Data::new(meters), Data::new(metrics), Data::new(scrape));
    let master_keys = master_keys.map(Data::new);
    let (origins, webhook_targets) = (Data::new(origins), Data::new(webhook_targets));
    let methods = Data::new(Methods::of(&document));
    let unpacker = Data::new(Unpacker::default());
    let max_connections = connection::max_per_thread(open_files::raise_limit(), threads);
    let server = HttpServer::new(move || {
        App::new()
            .configure(|parts| add_keys(parts, master_keys.as_ref()))
            .app_data(pool.clone())
            .app_data(assets.clone())
            .app_data(catalog.clone())
            .app_data(providers.clone())
            .app_data(hub.clone())
            .app_data(feed.clone())
            .app_data(notifier.clone())
            .app_data(keys.clone())
            .app_data(key_reader.clone())
            .app_data(writer.clone())
            .app_data(meters.clone())
            .app_data(metrics.clone())
            .app_data(scrape.clone())
            .app_data(methods.clone())
            .app_data(unpacker.clone())
            .app_data(rendered.clone())
            .app_data(origins.clone())
            .app_data(webhook_targets.clone())
            .app_data(path_config())
            .wrap(from_fn(problem::render))
            .wrap(from_fn(head::answer))
            .wrap(from_fn(compress::gzip))
            .wrap(from_fn(body::limit_rate))
            .wrap(from_fn(connection::close_idle))
            .wrap(from_fn(cors::allow))
            .wrap(header::defaults(header::NO_PAGE))
            .wrap(TracingLogger::<RequestSpan>::new())
            .wrap(from_fn(request_id::assign))
            .wrap(from_fn(telemetry::observe))
            .service(
                routes::v1()
                    .wrap(from_fn(query::refuse_nul))
                    .wrap(from_fn(body::refuse_compressed))
                    .wrap(from_fn(auth::authenticate)),
            )
            .configure(unversioned::configure)
            .default_service(web::to(fallback::no_route))
    })
    .workers(threads)
    .max_connections(max_connections)
    .on_connect(connection::prepare)
    .client_request_timeout(connection::HEAD_TIMEOUT)
    .client_disconnect_timeout(connection::LINGER)
    .shutdown_timeout(SHUTDOWN_SECONDS)
    .disable_signals()
    .listen(listener)?
    .run();
    connection::serve(server, shutdown).await?;
    background.shutdown().await;
    asset_store.finish_cleanup().await;
    Ok(())
}

/// Starts the distribution of new events and milestones to their followers.
fn start_hubs(background: &mut JoinSet<()>, pool: &Pool, meters: &ApiMeters) -> (Hub, FeedHub) {
    let (notifications, listening) = Notifications::new(pool, &[EVENTS_CHANNEL, FEED_CHANNEL]);
    let (hub, feed) = (Hub::new(meters.clone()), FeedHub::new(meters.clone()));
    background.spawn(listening);
    background.spawn(hub.clone().run(pool.clone(), notifications.clone()));
    background.spawn(feed.clone().run(pool.clone(), notifications));
    (hub, feed)
}

/// Creates the partitions of the coming weeks and days, and a new epoch of the feed after a restore. Events without a
/// partition go to the default partition until a worker creates theirs.
async fn prepare_tables(pool: &Pool) -> db::Result<()> {
    let weeks = db::event_week::create_upcoming(pool).await;
    let days = db::delta_day::create_upcoming(pool).await;
    if let Err(error) = weeks.and(days) {
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "cannot create the partitions of the coming weeks and days"
        );
    }
    if db::through_outage(|| db::feed::begin_epoch(pool)).await? {
        tracing::warn!(
            "the database was restored in another cluster: the feed restarts, and existing cursors have expired"
        );
    }
    Ok(())
}

async fn serve_metrics(scrape: Scrape, listener: TcpListener, shutdown: CancellationToken) {
    if let Err(error) = metrics::serve(scrape, None, listener, shutdown).await {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "metrics are no longer served"
        );
    }
}

fn add_keys(parts: &mut ServiceConfig, master_keys: Option<&Data<MasterKeys>>) {
    if let Some(keys) = master_keys {
        parts.app_data(keys.clone());
    }
}

fn path_config() -> PathConfig {
    PathConfig::default().error_handler(|_, request| fallback::no_id(request).into())
}
