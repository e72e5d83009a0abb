//! The body of every error: ours, and those that actix-web makes itself.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    ALLOW, CONTENT_RANGE, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse};
use tracing_actix_web::RequestId;

use super::ApiError;

/// Gives every error its body.
pub(crate) async fn render(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let request_id = request
        .extensions()
        .get::<RequestId>()
        .map(ToString::to_string);
    let response = next.call(request).await?;
    let status = response.status();
    if !(status.is_client_error() || status.is_server_error()) {
        return Ok(response.map_into_boxed_body());
    }
    let ours = response.response().error();
    let ours = ours.and_then(|error| error.as_error::<ApiError>());
    let foreign = foreign(&response);
    let error = ours.unwrap_or(&foreign);
    if let Some(ApiError::Internal(cause) | ApiError::Unavailable(cause)) = ours {
        tracing::error!(error = format!("{cause:#}"), "a request failed");
    }
    let problem = error.problem(request_id);
    let status = StatusCode::from_u16(problem.status).unwrap_or(status);
    let mut answer = HttpResponse::build(status).json(&problem);
    describe(error, status, answer.headers_mut());
    Ok(response.into_response(answer))
}

/// The headers that belong to an error.
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

/// An error that is not ours, by its status; its text may say too much.
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
