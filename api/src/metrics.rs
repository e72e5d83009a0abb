//! `/metrics`: with a key on the API, without a key on a separate listener.

use std::fmt;
use std::net::TcpListener;
use std::sync::{Arc, Mutex as StdMutex, PoisonError};
use std::time::{Duration, Instant};

use actix_web::http::header::{ACCEPT, CONTENT_TYPE, VARY};
use actix_web::middleware::from_fn;
use actix_web::web::Data;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use shared::db::{self, Pool};
use shared::telemetry::metrics::{Metrics, TextFormat};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::auth::MetricsReader;
use crate::worker_probe::{self, WorkerProbe};
use crate::{connection, head, health};

/// The maximum age of the queue metrics, so that more scrapers cause no more queries.
const DEPTH_AGE: Duration = Duration::from_secs(5);
/// The longest that a response waits for the database. After that, it omits the queue metrics.
const DEPTH_TIMEOUT: Duration = Duration::from_secs(2);
/// The delay of the feed from which the transaction that causes it is named.
const NOTABLE_LAG_SECONDS: f64 = 1.0;

/// The metrics that `/metrics` returns.
#[derive(Clone)]
pub struct Scrape {
    metrics: Metrics,
    queue: Option<Arc<QueueCollector>>,
}

/// The collector of queue metrics, which reads them from the database on demand.
struct QueueCollector {
    pool: Pool,
    looked_at: Mutex<Option<Instant>>,
    depth: StdMutex<Option<db::queue::Depth>>,
    /// `None` if the query failed.
    horizon: StdMutex<Option<Horizon>>,
}

/// The horizon of the feed.
struct Horizon {
    /// The transaction that delays the feed. `None` if no transaction does.
    holder: Option<db::feed::HorizonHolder>,
}

impl Scrape {
    /// Exposes the metrics of a process, without those of the queue.
    pub fn of(metrics: Metrics) -> Self {
        let queue = None;
        Self { metrics, queue }
    }

    /// Exposes the metrics of a process and of the queue.
    pub(crate) fn with_queue(metrics: Metrics, pool: Pool) -> Self {
        let queue = Arc::new(QueueCollector {
            pool,
            looked_at: Mutex::default(),
            depth: StdMutex::default(),
            horizon: StdMutex::default(),
        });
        metrics.collect(queue.clone());
        Self {
            metrics,
            queue: Some(queue),
        }
    }

    async fn answer(&self, request: &HttpRequest) -> HttpResponse {
        if let Some(queue) = &self.queue {
            queue.look().await;
        }
        let format = wanted(request);
        HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, format.content_type()))
            .insert_header((VARY, "Accept"))
            .body(self.metrics.render(format))
    }
}

/// Returns the text format that a scraper prefers. OpenMetrics is used only if the scraper names it and does not prefer
/// plain text.
fn wanted(request: &HttpRequest) -> TextFormat {
    let accepted = request.headers().get_all(ACCEPT);
    let accepted = accepted.filter_map(|value| value.to_str().ok());
    let accepted: Vec<_> = accepted.flat_map(|value| value.split(',')).collect();
    let open_metrics = quality(&accepted, "application/openmetrics-text");
    let plain = quality(&accepted, "text/plain");
    if open_metrics > 0.0 && open_metrics >= plain {
        TextFormat::OpenMetrics
    } else {
        TextFormat::Plain
    }
}

/// Returns the quality value of a media type in `Accept`, or 0 if the type is not named.
fn quality(accepted: &[&str], wanted: &str) -> f32 {
    let quality = |range: &&str| {
        let (media_type, parameters) = range.split_once(';').unwrap_or((range, ""));
        if !media_type.trim().eq_ignore_ascii_case(wanted) {
            return None;
        }
        let mut parameters = parameters.split(';');
        let quality = parameters.find_map(|it| it.trim().strip_prefix("q="));
        Some(quality.map_or(1.0, |it| it.trim().parse().unwrap_or(0.0)))
    };
    accepted.iter().filter_map(quality).fold(0.0, f32::max)
}

impl QueueCollector {
    async fn look(&self) {
        let mut looked_at = self.looked_at.lock().await;
        if looked_at.is_some_and(|at| at.elapsed() < DEPTH_AGE) {
            return;
        }
        let depth = match timeout(DEPTH_TIMEOUT, db::queue::get_depth(&self.pool)).await {
            Ok(Ok(depth)) => Some(depth),
            // Missing metrics are better than outdated ones.
            Ok(Err(_)) | Err(_) => None,
        };
        *self.depth.lock().unwrap_or_else(PoisonError::into_inner) = depth;
        let holder = timeout(DEPTH_TIMEOUT, db::feed::get_horizon_lag(&self.pool)).await;
        let horizon = holder
            .ok()
            .and_then(Result::ok)
            .map(|holder| Horizon { holder });
        *self.horizon.lock().unwrap_or_else(PoisonError::into_inner) = horizon;
        *looked_at = Some(Instant::now());
    }
}

impl fmt::Debug for QueueCollector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("QueueCollector")
    }
}

impl Collector for QueueCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let horizon = self.horizon.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Horizon { holder }) = &*horizon {
            encode_horizon(&mut encoder, holder.as_ref())?;
        }
        let depth = self.depth.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(depth) = &*depth else {
            return Ok(());
        };
        let help = "Unfinished jobs of all tenants, by state; 10000 means 10000 or more.";
        let mut jobs = encoder.encode_descriptor("queue_jobs", help, None, MetricType::Gauge)?;
        for (state, count) in [
            ("ready", depth.ready),
            ("scheduled", depth.scheduled),
            ("blocked", depth.blocked),
            ("running", depth.running),
            ("waiting", depth.waiting),
        ] {
            let state = [("state", state)];
            let jobs = jobs.encode_family(&state)?;
            ConstGauge::new(count).encode(jobs)?;
        }
        let help = "The waiting time of the oldest ready job; 0 if none is ready.";
        let age = depth
            .oldest
            .map_or(0.0, |at| (depth.now - at).as_seconds_f64());
        let oldest =
            encoder.encode_descriptor("queue_oldest_seconds", help, None, MetricType::Gauge)?;
        ConstGauge::new(age.max(0.0)).encode(oldest)
    }
}

/// Encodes the delay of the feed, and the transaction that causes it if the delay is long.
fn encode_horizon(
    encoder: &mut DescriptorEncoder<'_>,
    holder: Option<&db::feed::HorizonHolder>,
) -> fmt::Result {
    let help = "The age of the oldest open transaction that has written something; it delays tenant events.";
    let seconds = holder.map_or(0.0, |holder| holder.seconds.max(0.0));
    let lag = encoder.encode_descriptor("feed_horizon_seconds", help, None, MetricType::Gauge)?;
    ConstGauge::new(seconds).encode(lag)?;
    let Some(holder) = holder.filter(|holder| holder.seconds >= NOTABLE_LAG_SECONDS) else {
        return Ok(());
    };
    let help = "The transaction that delays tenant events by more than a second.";
    let mut named =
        encoder.encode_descriptor("feed_horizon_holder", help, None, MetricType::Gauge)?;
    let labels = [
        ("database", holder.database.clone()),
        ("application", holder.application.clone()),
        ("pid", holder.pid.to_string()),
    ];
    ConstGauge::new(1_i64).encode(named.encode_family(&labels)?)
}

/// Returns the metrics, for a key with the scope `metrics` or `admin`.
pub(crate) async fn get_metrics(
    _: MetricsReader,
    request: HttpRequest,
    scrape: Data<Scrape>,
) -> HttpResponse {
    scrape.answer(&request).await
}

/// Returns the metrics without a key, on the separate listener.
async fn get_metrics_without_key(request: HttpRequest, scrape: Data<Scrape>) -> HttpResponse {
    scrape.answer(&request).await
}

/// Serves only `/metrics`, `/healthz`, and for a worker `/readyz`, until `shutdown` is cancelled.
pub async fn serve(
    scrape: Scrape,
    worker: Option<WorkerProbe>,
    listener: TcpListener,
    shutdown: CancellationToken,
) -> std::io::Result<()> {
    let scrape = Data::new(scrape);
    let worker = worker.map(Data::new);
    let server = HttpServer::new(move || {
        App::new()
            .app_data(scrape.clone())
            .wrap(from_fn(head::answer))
            .route("/metrics", web::get().to(get_metrics_without_key))
            .service(health::healthz)
            .configure(|parts| {
                if let Some(worker) = &worker {
                    parts.app_data(worker.clone()).service(worker_probe::readyz);
                }
            })
    })
    .workers(1)
    .disable_signals()
    .listen(listener)?
    .run();
    connection::serve(server, shutdown).await
}
