//! The bodies of error responses, both for errors of this crate and for errors that actix-web creates.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    ALLOW, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse, ResponseError};

use super::ApiError;
use crate::request_id::RequestId;

/// Converts every error response to problem details.
pub(crate) async fn render(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let request_id = request
        .extensions()
        .get::<RequestId>()
        .map(|id| id.0.clone());
    let response = next.call(request).await?;
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return Ok(response.map_into_boxed_body());
    }
    let ours = response.response().error();
    let ours = ours.and_then(|error| error.as_error::<ApiError>());
    let foreign = foreign(&response);
    let error = ours.unwrap_or(&foreign);
    match ours {
        Some(ApiError::Internal(cause)) => {
            tracing::error!(error = format!("{cause:#}"), "a request failed");
        }
        // A warning only: a single outage can fail many requests.
        Some(ApiError::Unavailable(cause)) => {
            tracing::warn!(
                error = format!("{cause:#}"),
                "a request failed: the service is unavailable"
            );
        }
        _ => {}
    }
    let answer = answer(error, request_id);
    Ok(response.into_response(answer))
}

/// Creates the response for an error.
pub(crate) fn answer(error: &ApiError, request_id: Option<String>) -> HttpResponse {
    let status = error.status_code();
    let mut answer = HttpResponse::build(status).json(error.problem(request_id));
    describe(error, status, answer.headers_mut());
    answer
}

/// Adds the headers of an error.
fn describe(error: &ApiError, status: StatusCode, headers: &mut HeaderMap) {
    let mut insert = |name: HeaderName, value: &str| {
        let value = HeaderValue::from_str(value);
        headers.insert(name, value.expect("what we write is ASCII"));
    };
    insert(CONTENT_TYPE, "application/problem+json");
    if status == StatusCode::UNAUTHORIZED {
        insert(WWW_AUTHENTICATE, "Bearer");
    }
    if let Some(seconds) = error.retry_after() {
        insert(RETRY_AFTER, &seconds.to_string());
    }
    match error {
        ApiError::RangeNotSatisfiable { size } => {
            insert(CONTENT_RANGE, &format!("bytes */{size}"));
        }
        ApiError::MethodNotAllowed { allowed } => insert(ALLOW, allowed),
        _ => {}
    }
}

/// Converts an error that actix-web created, by its status. Its text is dropped, because it may reveal too much.
fn foreign<B>(response: &ServiceResponse<B>) -> ApiError {
    match response.status() {
        StatusCode::NOT_FOUND => ApiError::NotFound("path"),
        StatusCode::METHOD_NOT_ALLOWED => {
            let allowed = response.headers().get(ALLOW);
            let allowed = allowed.and_then(|value| value.to_str().ok());
            ApiError::MethodNotAllowed {
                allowed: allowed.unwrap_or_default().to_owned(),
            }
        }
        status if status.is_client_error() => {
            ApiError::Malformed("the request cannot be read".to_owned())
        }
        status => ApiError::Internal(anyhow::anyhow!("status {status}")),
    }
}
