//! The HTTP side: takes jobs and files, shows what becomes of them.

mod auth;
mod body;
mod cursor;
mod doorbell;
mod fallback;
mod follower;
mod form;
mod frame;
mod health;
mod hub;
mod job_writer;
pub mod metrics;
mod name;
pub mod openapi;
pub mod problem;
mod routes;
mod telemetry;
mod v1;

use std::net::TcpListener;
use std::time::Duration;

use actix_web::middleware::from_fn;
use actix_web::web::{Data, PathConfig, QueryConfig};
use actix_web::{App, HttpServer, web};
use shared::asset::AssetStore;
use shared::db;
use shared::provider::Providers;
use shared::secret::MasterKeys;
use shared::skill::Catalog;
use shared::telemetry::metrics::Metrics;
use sqlx::PgPool;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing_actix_web::TracingLogger;
use utoipa::openapi::OpenApi;
use utoipa_swagger_ui::{Config, SwaggerUi};

pub use crate::job_writer::JobWriter;

use crate::doorbell::Doorbell;
use crate::fallback::Methods;
use crate::hub::Hub;
use crate::metrics::Scrape;
use crate::openapi::Rendered;
use crate::problem::ApiError;
use crate::telemetry::Meters;
use crate::v1::skills::Unpacker;

/// How long requests have to end when the service does; streams are cut, their clients resume elsewhere.
const SHUTDOWN_SECONDS: u64 = 5;
/// Connections of one thread; each follower holds one.
const MAX_CONNECTIONS: usize = 50_000;
/// The slowest a client may be with the head of its request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// What an API process is given.
pub struct Settings {
    /// Connections to the database.
    pub pool: PgPool,
    /// Where what it counts is shown.
    pub metrics: Metrics,
    /// Where `/metrics` needs no key.
    pub metrics_listener: Option<TcpListener>,
    /// Where bytes are.
    pub assets: AssetStore,
    /// The skills that jobs may name.
    pub catalog: Catalog,
    /// The providers that models may name.
    pub providers: Providers,
    /// The keys of secrets. Without them there are none.
    pub master_keys: Option<MasterKeys>,
    /// Threads that answer requests.
    pub threads: usize,
}

/// Serves until it is told to end.
pub async fn run(
    settings: Settings,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let Settings {
        pool,
        metrics,
        metrics_listener,
        assets,
        catalog,
        providers,
        master_keys,
        threads,
    } = settings;
    db::through_outage(|| db::event::ensure_partitions(&pool)).await?;
    metrics.watch("api", &pool);
    let meters = Meters::new(&metrics);
    let scrape = Scrape::with_queue(metrics.clone(), pool.clone());
    let (hub, doorbell) = (Hub::new(meters.clone()), Doorbell::default());
    let mut background = JoinSet::new();
    if let Some(listener) = metrics_listener {
        background.spawn(serve_metrics(scrape.clone(), listener, shutdown.clone()));
    }
    background.spawn(hub.clone().run(pool.clone()));
    background.spawn(doorbell.clone().run(pool.clone()));
    let (writer, writing) = JobWriter::new(&pool);
    background.spawn(writing);

    let document = openapi::document();
    let rendered = Data::new(Rendered::of(&document)?);
    let (pool, assets) = (Data::new(pool), Data::new(assets));
    let asset_store = assets.clone();
    let (catalog, providers) = (Data::new(catalog), Data::new(providers));
    let (hub, doorbell) = (Data::new(hub), Data::new(doorbell));
    let writer = Data::new(writer);
    let (meters, metrics, scrape) = (Data::new(meters), Data::new(metrics), Data::new(scrape));
    let master_keys = master_keys.map(Data::new);
    let methods = Data::new(Methods::of(&document));
    let unpacker = Data::new(Unpacker::default());
    let server = HttpServer::new(move || {
        App::new()
            .configure(|parts| {
                if let Some(keys) = &master_keys {
                    parts.app_data(keys.clone());
                }
            })
            .app_data(pool.clone())
            .app_data(assets.clone())
            .app_data(catalog.clone())
            .app_data(providers.clone())
            .app_data(hub.clone())
            .app_data(doorbell.clone())
            .app_data(writer.clone())
            .app_data(meters.clone())
            .app_data(metrics.clone())
            .app_data(scrape.clone())
            .app_data(methods.clone())
            .app_data(unpacker.clone())
            .app_data(rendered.clone())
            .app_data(query_config())
            .app_data(path_config())
            .wrap(from_fn(problem::render))
            .wrap(TracingLogger::default())
            .wrap(from_fn(telemetry::observe))
            .service(routes::v1().wrap(from_fn(auth::authenticate)))
            .service(health::healthz)
            .service(health::readyz)
            .service(
                web::resource("/metrics")
                    .wrap(from_fn(auth::authenticate))
                    .get(metrics::get_metrics),
            )
            .route("/openapi.json", web::get().to(openapi::get_document))
            .service(docs(document.clone()))
            .service(web::redirect("/docs", "/docs/"))
            .default_service(web::to(fallback::no_route))
    })
    .workers(threads)
    .max_connections(MAX_CONNECTIONS)
    .client_request_timeout(HEAD_TIMEOUT)
    .shutdown_timeout(SHUTDOWN_SECONDS)
    .disable_signals()
    .listen(listener)?
    .run();
    let handle = server.handle();
    let stopping = async {
        shutdown.cancelled().await;
        handle.stop(true).await;
        std::future::pending::<()>().await;
    };
    tokio::select! {
        ended = server => ended?,
        () = stopping => {}
    }
    background.shutdown().await;
    asset_store.finish_cleanup().await;
    Ok(())
}

async fn serve_metrics(scrape: Scrape, listener: TcpListener, shutdown: CancellationToken) {
    if let Err(error) = metrics::serve(scrape, listener, shutdown).await {
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "metrics are not served any more"
        );
    }
}

fn query_config() -> QueryConfig {
    QueryConfig::default().error_handler(|error, _| {
        ApiError::Malformed(format!("the query cannot be used: {error}")).into()
    })
}

/// What cannot be an id names nothing.
fn path_config() -> PathConfig {
    PathConfig::default().error_handler(|_, _| ApiError::NotFound("path").into())
}

/// The document for people, all of it served from here.
fn docs(document: OpenApi) -> SwaggerUi {
    // Otherwise the page sends the document's address to swagger.io to have it checked.
    let config = Config::default().validator_url("none");
    SwaggerUi::new("/docs/{_:.*}")
        .config(config)
        .url("/docs/openapi.json", document)
}
