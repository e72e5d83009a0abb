//! Queries of paths.

use actix_web::Error;
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;

use crate::problem::ApiError;

/// Lets requests through whose query has no NUL, which the database takes in no text.
pub(crate) async fn refuse_nul(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let mut parameters = request.query_string().split('&');
    let Some(wrong) = parameters.find(|parameter| parameter.contains("%00")) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let name = wrong.split('=').next().unwrap_or_default();
    let detail =
        format!("the query cannot be used: `{name}` must not contain the character NUL (%00)");
    let (request, _) = request.into_parts();
    Ok(ServiceResponse::from_err(
        ApiError::Malformed(detail),
        request,
    ))
}
