//! Export of spans to the collector at `OTEL_EXPORTER_OTLP_ENDPOINT`, by OTLP over HTTP. Without this variable no spans
//! are recorded.
//!
//! The exporter never blocks: it has its own thread with a bounded queue, and drops spans when the queue is full.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use opentelemetry::{KeyValue, global};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::resource::EnvResourceDetector;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tokio::runtime::Handle;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

/// The timeout of a request to the collector.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);
/// The maximum wait for the last spans at the end of the process.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);
/// The minimum time between two warnings about the collector.
const WARNING_INTERVAL: Duration = Duration::from_secs(600);

/// Sends spans until it is dropped, which sends the last ones.
pub(crate) struct Exporter(SdkTracerProvider);

impl Exporter {
    /// Starts the exporter if a collector is configured. Invalid variables cause a warning and turn traces off, because
    /// tracing must not prevent a service from running.
    pub(crate) fn start(runtime: &Handle) -> Option<Self> {
        if !is_wanted() {
            return None;
        }
        match build(runtime) {
            Ok(provider) => {
                global::set_text_map_propagator(TraceContextPropagator::new());
                global::set_tracer_provider(provider.clone());
                shared::telemetry::trace::enable();
                Some(Self(provider))
            }
            Err(error) => {
                tracing::warn!(error = format!("{error:#}"), "traces are off");
                None
            }
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        // Spans that cannot be sent now are lost. A warning about the collector has been logged.
        let _ = self.0.shutdown_with_timeout(FLUSH_TIMEOUT);
    }
}

fn build(runtime: &Handle) -> anyhow::Result<SdkTracerProvider> {
    let protocol = variable(&[
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_PROTOCOL",
    ]);
    if let Some(other) = protocol.filter(|it| it != "http/protobuf") {
        anyhow::bail!("the protocol {other} is not supported; use http/protobuf");
    }
    let client = OtlpHttpClient {
        runtime: runtime.clone(),
        // A redirect would forward the headers, which may contain a key.
        http: reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .timeout(SEND_TIMEOUT)
            .build()?,
        warned_at: Mutex::default(),
    };
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(client)
        .build()?;
    let provider = SdkTracerProvider::builder()
        .with_resource(resource())
        .with_batch_exporter(exporter);
    Ok(provider.build())
}

/// The attributes of this process: the values of environment variables, and defaults for the others.
fn resource() -> Resource {
    Resource::builder_empty()
        .with_service_name("skillet")
        .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
        .with_attribute(KeyValue::new("process.pid", i64::from(std::process::id())))
        .with_attribute(KeyValue::new(
            "service.instance.id",
            Uuid::now_v7().to_string(),
        ))
        .with_detector(Box::new(EnvResourceDetector::new()))
        .with_attributes(
            variable(&["OTEL_SERVICE_NAME"]).map(|name| KeyValue::new("service.name", name)),
        )
        .build()
}

fn is_wanted() -> bool {
    let is_disabled =
        variable(&["OTEL_SDK_DISABLED"]).is_some_and(|it| it.eq_ignore_ascii_case("true"));
    let goes_elsewhere = variable(&["OTEL_TRACES_EXPORTER"]).is_some_and(|it| it != "otlp");
    let endpoint = variable(&[
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
    ]);
    endpoint.is_some() && !is_disabled && !goes_elsewhere
}

/// The value of the first of these variables that is not empty.
fn variable(names: &[&str]) -> Option<String> {
    let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
    values.find(|value| !value.is_empty())
}

/// Sends spans to the collector on the runtime of the process, because the exporter's thread has none.
#[derive(Debug)]
struct OtlpHttpClient {
    runtime: Handle,
    http: reqwest::Client,
    warned_at: Mutex<Option<Instant>>,
}

#[async_trait]
impl HttpClient for OtlpHttpClient {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let http = self.http.clone();
        let sending = self
            .runtime
            .spawn(async move { http.send_bytes(request).await });
        let sent = AbortOnDropHandle::new(sending).await?;
        match &sent {
            Ok(response) if response.status().is_success() => {}
            Ok(response) => self.complain(&format!("status {}", response.status())),
            Err(error) => self.complain(&error.to_string()),
        }
        sent
    }
}

impl OtlpHttpClient {
    /// Warns that the collector does not accept spans, at most once per interval.
    fn complain(&self, error: &str) {
        let mut at = self
            .warned_at
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if at.is_none_or(|at| at.elapsed() >= WARNING_INTERVAL) {
            *at = Some(Instant::now());
            tracing::warn!(error, "cannot send spans to the collector");
        }
    }
}
