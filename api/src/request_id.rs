//! Request ids: from the client or generated, in responses, problems and logs.

use actix_web::Error;
use actix_web::HttpMessage;
use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{HeaderName, HeaderValue};
use actix_web::middleware::Next;
use tracing::Span;
use tracing::field::Empty;
use tracing_actix_web::{DefaultRootSpanBuilder, RootSpanBuilder};
use uuid::Uuid;

/// The header for request ids, in requests and responses.
pub(crate) const X_REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
const MAX_CHARS: usize = 128;

/// The id of a request.
#[derive(Clone)]
pub(crate) struct RequestId(pub(crate) String);

impl RequestId {
    /// Returns the id from the client if it is printable ASCII without spaces, or else a new one.
    fn of(request: &ServiceRequest) -> Self {
        let given = request.headers().get(X_REQUEST_ID);
        let given = given.and_then(|value| value.to_str().ok());
        let is_usable = |id: &&str| {
            (1..=MAX_CHARS).contains(&id.len()) && id.bytes().all(|byte| byte.is_ascii_graphic())
        };
        match given.filter(is_usable) {
            Some(id) => Self(id.to_owned()),
            None => Self(format!("req_{}", Uuid::now_v7().simple())),
        }
    }
}

/// Assigns an id to each request, and returns it in the response.
pub(crate) async fn assign(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let id = RequestId::of(&request);
    request.extensions_mut().insert(id.clone());
    let mut response = next.call(request).await?;
    if let Ok(value) = HeaderValue::from_str(&id.0) {
        response.headers_mut().insert(X_REQUEST_ID, value);
    }
    Ok(response)
}

/// The tracing span of a request. It omits the query string, which may contain a token.
pub(crate) struct RequestSpan;

impl RootSpanBuilder for RequestSpan {
    fn on_request_start(request: &ServiceRequest) -> Span {
        let id = request.extensions().get::<RequestId>().cloned();
        let route = request.match_pattern();
        tracing::info_span!(
            "request",
            http.method = request.method().as_str(),
            http.route = route.as_deref().unwrap_or("none"),
            request_id = id.as_ref().map_or("", |id| &id.0),
            http.status_code = Empty,
        )
    }

    fn on_request_end<B: MessageBody>(span: Span, outcome: &Result<ServiceResponse<B>, Error>) {
        DefaultRootSpanBuilder::on_request_end(span, outcome);
    }
}
