//! Cross-origin requests (Fetch standard, section 3.3): pages of allowed origins may call the API with a key, never
//! with a cookie.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::Method;
use actix_web::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD,
    HeaderValue, ORIGIN, VARY,
};
use actix_web::middleware::Next;
use actix_web::web::Data;
use actix_web::{Error, HttpMessage, HttpResponse};

use crate::origin::Origins;
use crate::problem::{self, ApiError};
use crate::request_id::RequestId;

const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";
/// Headers that a page may send.
const REQUEST_HEADERS: &str = "Authorization, Content-Type, Idempotency-Key, Prefer, Last-Event-ID, X-Request-Id, \
                               Range, If-Match, If-None-Match, If-Range, traceparent, tracestate";
/// Headers that a page may read.
const ANSWER_HEADERS: &str = "X-Request-Id, Location, ETag, Retry-After, RateLimit, RateLimit-Policy, \
                              Idempotent-Replayed, Preference-Applied, Content-Disposition, Content-Range, Accept-Ranges";
/// The number of seconds that a browser may cache a preflight response.
const MAX_AGE: &str = "600";

/// Answers preflight requests, and lets pages of allowed origins read responses.
pub(crate) async fn allow(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let origins = request.app_data::<Data<Origins>>();
    let origin = request.headers().get(ORIGIN).cloned();
    let allowed = origin.filter(|origin| {
        let origin = origin.to_str().unwrap_or_default();
        origins.is_some_and(|origins| origins.allows(origin))
    });
    let is_preflight = request.method() == Method::OPTIONS
        && request.headers().contains_key(ORIGIN)
        && request
            .headers()
            .contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let has_allowed = origins.is_some_and(|origins| !origins.allowed.is_empty());
    let mut response = match &allowed {
        Some(_) if is_preflight => request.into_response(preflight()),
        None if is_preflight => {
            let id = request
                .extensions()
                .get::<RequestId>()
                .map(|id| id.0.clone());
            request.into_response(problem::answer(&ApiError::OriginNotAllowed, id))
        }
        _ => next.call(request).await?.map_into_boxed_body(),
    };
    let headers = response.headers_mut();
    if has_allowed {
        headers.append(VARY, HeaderValue::from_static("Origin"));
    }
    if let Some(origin) = allowed {
        let exposed = HeaderValue::from_static(ANSWER_HEADERS);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, exposed);
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    Ok(response)
}

fn preflight() -> HttpResponse {
    HttpResponse::NoContent()
        .insert_header((ACCESS_CONTROL_ALLOW_METHODS, METHODS))
        .insert_header((ACCESS_CONTROL_ALLOW_HEADERS, REQUEST_HEADERS))
        .insert_header((ACCESS_CONTROL_MAX_AGE, MAX_AGE))
        .finish()
}
