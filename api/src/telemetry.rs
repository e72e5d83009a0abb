//! Metrics of requests and streams, and the first spans of a job's trace.

use std::time::{Duration, Instant};

use actix_web::Error;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::HeaderMap;
use actix_web::middleware::Next;
use actix_web::web::Data;
use opentelemetry::propagation::Extractor;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use shared::telemetry::metrics::{Durations, Metrics, short};
use shared::telemetry::trace::Span;

/// The meters of an API process.
#[derive(Clone)]
pub(crate) struct ApiMeters {
    requests: Family<Request, Counter>,
    durations: Durations<Route>,
    followers: Gauge,
    deliveries: Histogram,
}

/// The labels of a request, which have a limited number of values. The route is a pattern of this service or empty, and
/// the method is one of a fixed set.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Route {
    method: &'static str,
    route: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct Request {
    #[prometheus(flatten)]
    route: Route,
    status: u16,
}

impl ApiMeters {
    /// Creates the meters, and adds them to the metrics.
    pub(crate) fn new(metrics: &Metrics) -> Self {
        Self {
            requests: metrics.add(
                "http_requests",
                "Requests, by method, route and status",
                Family::default(),
            ),
            durations: metrics.seconds(
                "http_request_duration",
                "Time from the head of a request to the head of its response",
                Family::new_with_constructor(short as fn() -> Histogram),
            ),
            followers: metrics.add("followers", "Clients that follow a job", Gauge::default()),
            deliveries: metrics.seconds(
                "event_delivery_duration",
                "Time from the write of an event to its distribution to followers",
                short(),
            ),
        }
    }

    /// Counts a follower until the guard is dropped.
    pub(crate) fn follow(&self) -> FollowGuard {
        self.followers.inc();
        FollowGuard(self.followers.clone())
    }

    /// Records the time from the write of an event to its distribution to followers.
    pub(crate) fn delivered(&self, after: Duration) {
        self.deliveries.observe(after.as_secs_f64());
    }

    fn answered(&self, method: &'static str, route: String, status: u16, took: Duration) {
        let route = Route { method, route };
        let durations = self.durations.get_or_create(&route);
        durations.observe(took.as_secs_f64());
        drop(durations);
        let request = Request { route, status };
        self.requests.get_or_create(&request).inc();
    }
}

/// A guard that counts a follower until it is dropped.
pub(crate) struct FollowGuard(Gauge);

impl Drop for FollowGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Counts requests, and starts a span for each request under `/v1/`.
pub(crate) async fn observe(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let begun_at = Instant::now();
    let meters = request.app_data::<Data<ApiMeters>>().cloned();
    let meters = meters.expect("the application has meters");
    let (method, route) = (name(request.method()), request.match_pattern());
    let route = route.unwrap_or_default();
    let span = if route.starts_with("/v1/") {
        begin(&request, method, &route)
    } else {
        Span::default()
    };
    let answered = span.around(next.call(request)).await;
    let status = match &answered {
        Ok(response) => response.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    span.set("http.response.status_code", || i64::from(status.as_u16()));
    if status.is_server_error() {
        span.fail("server_error");
    }
    meters.answered(method, route, status.as_u16(), begun_at.elapsed());
    answered
}

fn begin(request: &ServiceRequest, method: &'static str, route: &str) -> Span {
    let headers = Headers(request.headers());
    let span = Span::of_request(&headers, || format!("{method} {route}"));
    span.set("http.request.method", || method);
    span.set("http.route", || route.to_owned());
    span.set("url.path", || request.path().to_owned());
    span.set("url.scheme", || {
        request.connection_info().scheme().to_owned()
    });
    span.set("server.address", || {
        let connection = request.connection_info();
        let host = connection.host();
        // An IPv6 address contains colons, within brackets.
        let end = host.rfind(':').filter(|at| !host[*at..].contains(']'));
        host[..end.unwrap_or(host.len())].to_owned()
    });
    span
}

/// Returns the method name according to the OpenTelemetry semantic conventions, which define a fixed set.
fn name(method: &Method) -> &'static str {
    match *method {
        Method::GET => "GET",
        Method::HEAD => "HEAD",
        Method::POST => "POST",
        Method::PUT => "PUT",
        Method::PATCH => "PATCH",
        Method::DELETE => "DELETE",
        Method::OPTIONS => "OPTIONS",
        Method::TRACE => "TRACE",
        Method::CONNECT => "CONNECT",
        _ => "_OTHER",
    }
}

/// The request headers, which carry the trace context.
struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(|name| name.as_str()).collect()
    }
}
