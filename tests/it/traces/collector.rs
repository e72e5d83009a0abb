//! A test collector for OTLP over HTTP.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use actix_web::web::{self, Bytes, Data, PayloadConfig};
use actix_web::{App, HttpResponse, HttpServer};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use prost::Message;
use serde_json::{Value, json};

use crate::support::until;

/// A collector on a free port.
pub(super) struct Collector {
    url: String,
    spans: Arc<Mutex<Vec<Received>>>,
}

/// A received span.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) service: String,
    pub(super) instance: String,
    pub(super) process: u32,
    pub(super) trace: String,
    pub(super) id: String,
    pub(super) parent: String,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) began_at: u64,
    pub(super) failed: bool,
    pub(super) attributes: BTreeMap<String, Value>,
    pub(super) events: Vec<String>,
    /// The whole span, for the output of failed tests.
    _whole: Span,
}

impl Collector {
    /// Starts the collector.
    pub(super) fn start() -> Self {
        let spans: Arc<Mutex<Vec<Received>>> = Arc::default();
        let heap = Data::from(spans.clone());
        let server = HttpServer::new(move || {
            App::new()
                .app_data(heap.clone())
                .app_data(PayloadConfig::new(4 << 20))
                .route("/v1/traces", web::post().to(take))
        })
        .workers(1)
        .disable_signals()
        .bind(("127.0.0.1", 0))
        .unwrap();
        let url = format!("http://{}", server.addrs()[0]);
        tokio::spawn(server.run());
        Self { url, spans }
    }

    /// Returns the variables that make a process send its traces to the collector.
    pub(super) fn environment(&self) -> Vec<(&'static str, &str)> {
        vec![
            ("OTEL_EXPORTER_OTLP_ENDPOINT", &self.url),
            ("OTEL_BSP_SCHEDULE_DELAY", "20"),
        ]
    }

    /// Returns the spans that were received so far.
    pub(super) fn received(&self) -> Vec<Received> {
        self.spans.lock().unwrap().clone()
    }

    /// Waits until the condition is true of the received spans, and returns them.
    pub(super) async fn until(&self, holds: impl Fn(&[Received]) -> bool) -> Vec<Received> {
        until(async || holds(&self.received())).await;
        self.received()
    }
}

async fn take(body: Bytes, heap: Data<Mutex<Vec<Received>>>) -> HttpResponse {
    let request = ExportTraceServiceRequest::decode(body).unwrap();
    let mut spans = heap.lock().unwrap();
    for of_process in request.resource_spans {
        let resource = attributes(&of_process.resource.unwrap().attributes);
        for span in of_process.scope_spans.into_iter().flat_map(|it| it.spans) {
            spans.push(Received {
                service: resource["service.name"].as_str().unwrap().to_owned(),
                instance: resource["service.instance.id"].as_str().unwrap().to_owned(),
                process: u32::try_from(resource["process.pid"].as_u64().unwrap()).unwrap(),
                trace: hex::encode(&span.trace_id),
                id: hex::encode(&span.span_id),
                parent: hex::encode(&span.parent_span_id),
                name: span.name.clone(),
                kind: span.kind(),
                began_at: span.start_time_unix_nano,
                failed: span
                    .status
                    .as_ref()
                    .is_some_and(|it| it.code() == StatusCode::Error),
                attributes: attributes(&span.attributes),
                events: span.events.iter().map(|it| it.name.clone()).collect(),
                _whole: span,
            });
        }
    }
    HttpResponse::Ok()
        .content_type("application/x-protobuf")
        .body(ExportTraceServiceResponse::default().encode_to_vec())
}

fn attributes(list: &[KeyValue]) -> BTreeMap<String, Value> {
    let pairs = list
        .iter()
        .map(|it| (it.key.clone(), json(it.value.as_ref())));
    pairs.collect()
}

fn json(value: Option<&AnyValue>) -> Value {
    match value.and_then(|it| it.value.as_ref()) {
        Some(Any::StringValue(text)) => json!(text),
        Some(Any::IntValue(number)) => json!(number),
        Some(Any::DoubleValue(number)) => json!(number),
        Some(Any::BoolValue(truth)) => json!(truth),
        Some(Any::ArrayValue(array)) => array.values.iter().map(|it| json(Some(it))).collect(),
        other => panic!("{other:?} is no value of ours"),
    }
}
