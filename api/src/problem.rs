//! Errors as clients see them: problem details (RFC 9457), whatever went wrong and wherever.

use std::fmt;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    ALLOW, CONTENT_RANGE, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE,
};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, HttpResponse, ResponseError};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use tracing_actix_web::RequestId;
use utoipa::ToSchema;

/// Why a request was not done.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request cannot be read.
    #[error("{0}")]
    Malformed(String),
    /// There is no key.
    #[error("send a key of this service as `Authorization: Bearer sk_…`")]
    Unauthorized,
    /// There is a key, and it is none of ours.
    #[error(
        "this key is not known to the service: it may be mistyped, revoked, or the key of another service"
    )]
    UnknownKey,
    /// The key may not do this.
    #[error("this key lacks the scope `{0}`")]
    Forbidden(&'static str),
    /// There is no such thing, or it is someone else's.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The path knows other methods.
    #[error("this path does not take this method")]
    MethodNotAllowed,
    /// The content ends before the range that was asked for.
    #[error("the content has only {size} bytes")]
    RangeNotSatisfiable {
        /// How much there is.
        size: u64,
    },
    /// It does not fit what is.
    #[error("{detail}")]
    Conflict {
        /// For programs.
        code: &'static str,
        /// For people.
        detail: String,
    },
    /// The body is larger than it may be.
    #[error("the body is larger than {limit} bytes; send files to POST /v1/assets first")]
    TooLarge {
        /// What it may be.
        limit: u64,
    },
    /// The body is of another kind.
    #[error("the body must be {0}")]
    UnsupportedMediaType(&'static str),
    /// The tenant has used up what it may use up in a month.
    #[error("the budget for this month is used up; it is renewed at {}", .renewed_at.to_rfc3339())]
    BudgetExceeded {
        /// When there is a budget again.
        renewed_at: DateTime<Utc>,
    },
    /// The tenant's jobs come faster than they may.
    #[error("jobs come faster than this tenant's may; in {} s there is room for these", seconds(*.wait))]
    SubmitRateExceeded {
        /// After that time they may come.
        wait: TimeDelta,
    },
    /// Too many of the tenant's jobs have not ended.
    #[error("too many jobs of this tenant have not ended; when some have, there is room for more")]
    QueueFull {
        /// When it is looked at again.
        wait: TimeDelta,
    },
    /// The request can be read and makes no sense.
    #[error("{} of the request cannot be used", count_fields(.0.len()))]
    Invalid(Vec<FieldError>),
    /// What a job was to run went while it was accepted.
    #[error("the skill was replaced in this very moment; send the request again")]
    SkillReplaced,
    /// The key of an earlier, other request.
    #[error("this Idempotency-Key came with another request before")]
    IdempotencyMismatch,
    /// This service cannot do it until its operator configures what it needs.
    #[error("{0}")]
    NotConfigured(&'static str),
    /// The service cannot answer now.
    #[error("the service cannot answer now")]
    Unavailable(#[source] anyhow::Error),
    /// Our fault.
    #[error("internal error")]
    Internal(#[source] anyhow::Error),
}

fn count_fields(count: usize) -> String {
    if count == 1 {
        "one field".to_owned()
    } else {
        format!("{count} fields")
    }
}

/// Whole seconds in which that time is over.
fn seconds(wait: TimeDelta) -> i64 {
    wait.num_seconds() + i64::from(wait.subsec_nanos() > 0)
}

/// What is wrong with one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FieldError {
    /// Which: a JSON Pointer (RFC 6901) into the body.
    #[schema(example = "/prompt")]
    pub pointer: String,
    /// What is wrong, and what would be right.
    pub detail: String,
}

impl FieldError {
    /// An error of the field at `pointer`.
    pub fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            pointer: pointer.into(),
            detail: detail.into(),
        }
    }
}

/// Problem details (RFC 9457).
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Always `about:blank`: `code` tells problems apart.
    #[schema(example = "about:blank")]
    pub r#type: String,
    /// The status in words.
    pub title: String,
    /// The HTTP status.
    pub status: u16,
    /// For programs; part of the contract.
    #[schema(example = "invalid_request")]
    pub code: String,
    /// For people.
    pub detail: String,
    /// What is wrong with which field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<FieldError>,
    /// Names the request in the operator's log.
    #[schema(required)]
    pub request_id: Option<String>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
}

impl From<sqlx::Error> for ApiError {
    fn from(error: sqlx::Error) -> Self {
        match error {
            error if shared::db::skill::is_held(&error) => Self::SkillReplaced,
            error if shared::db::is_outage(&error) => Self::Unavailable(error.into()),
            error => Self::Internal(error.into()),
        }
    }
}

impl From<shared::db::asset::StoreAssetError> for ApiError {
    fn from(error: shared::db::asset::StoreAssetError) -> Self {
        Self::Internal(error.into())
    }
}

impl From<shared::asset::StoreError> for ApiError {
    fn from(error: shared::asset::StoreError) -> Self {
        Self::Internal(error.into())
    }
}

impl ApiError {
    /// The error of a single field.
    pub fn field(pointer: impl Into<String>, detail: impl fmt::Display) -> Self {
        Self::Invalid(vec![FieldError::new(pointer, detail.to_string())])
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed_request",
            Self::Unauthorized | Self::UnknownKey => "unauthorized",
            Self::Forbidden(_) => "forbidden",
            Self::NotFound(_) => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::RangeNotSatisfiable { .. } => "range_not_satisfiable",
            Self::Conflict { code, .. } => code,
            Self::TooLarge { .. } => "too_large",
            Self::UnsupportedMediaType(_) => "unsupported_media_type",
            Self::BudgetExceeded { .. } => "budget_exceeded",
            Self::SubmitRateExceeded { .. } => "submit_rate_exceeded",
            Self::QueueFull { .. } => "queue_full",
            Self::Invalid(_) => "invalid_request",
            Self::SkillReplaced => "skill_replaced",
            Self::IdempotencyMismatch => "idempotency_key_reused",
            Self::NotConfigured(_) => "not_configured",
            Self::Unavailable(_) => "unavailable",
            Self::Internal(_) => "internal",
        }
    }

    fn problem(&self, request_id: Option<String>) -> Problem {
        let status = self.status_code();
        Problem {
            r#type: "about:blank".to_owned(),
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            status: status.as_u16(),
            code: self.code().to_owned(),
            detail: self.to_string(),
            errors: if let Self::Invalid(errors) = self {
                errors.clone()
            } else {
                Vec::new()
            },
            request_id,
            retryable: self.is_retryable(),
        }
    }

    fn is_retryable(&self) -> bool {
        match self {
            Self::BudgetExceeded { .. }
            | Self::SubmitRateExceeded { .. }
            | Self::QueueFull { .. }
            | Self::SkillReplaced => true,
            Self::NotConfigured(_) => false,
            _ => self.status_code().is_server_error(),
        }
    }

    /// In how many seconds the same request may succeed, if that is known.
    fn retry_after(&self) -> Option<i64> {
        match self {
            Self::BudgetExceeded { renewed_at } => {
                Some((*renewed_at - Utc::now()).num_seconds().max(0) + 1)
            }
            Self::SubmitRateExceeded { wait } | Self::QueueFull { wait } => Some(seconds(*wait)),
            _ if self.status_code() == StatusCode::SERVICE_UNAVAILABLE && self.is_retryable() => {
                Some(1)
            }
            _ => None,
        }
    }
}

impl ResponseError for ApiError {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::Malformed(_) => StatusCode::BAD_REQUEST,
            Self::Unauthorized | Self::UnknownKey => StatusCode::UNAUTHORIZED,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::RangeNotSatisfiable { .. } => StatusCode::RANGE_NOT_SATISFIABLE,
            Self::Conflict { .. } | Self::SkillReplaced => StatusCode::CONFLICT,
            Self::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::UnsupportedMediaType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BudgetExceeded { .. }
            | Self::SubmitRateExceeded { .. }
            | Self::QueueFull { .. } => StatusCode::TOO_MANY_REQUESTS,
            Self::Invalid(_) | Self::IdempotencyMismatch => StatusCode::UNPROCESSABLE_ENTITY,
            Self::NotConfigured(_) | Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// Gives every error its body: ours, and those that actix-web makes itself.
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
    let error = response.response().error();
    let error = error.and_then(|error| error.as_error::<ApiError>());
    let size = match error {
        Some(ApiError::RangeNotSatisfiable { size }) => Some(*size),
        _ => None,
    };
    let (problem, retry_after) = match error {
        Some(error) => {
            if let ApiError::Internal(cause) | ApiError::Unavailable(cause) = error {
                tracing::error!(error = format!("{cause:#}"), "a request failed");
            }
            (error.problem(request_id), error.retry_after())
        }
        None => {
            let error = foreign(status);
            (error.problem(request_id), error.retry_after())
        }
    };
    let allow = response.headers().get(ALLOW).cloned();
    let mut body =
        HttpResponse::build(StatusCode::from_u16(problem.status).unwrap_or(status)).json(&problem);
    let headers = body.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        HeaderValue::from_static("application/problem+json"),
    );
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(seconds) = retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if let Some(size) = size {
        headers.insert(
            CONTENT_RANGE,
            HeaderValue::from_str(&format!("bytes */{size}")).expect("digits are ASCII"),
        );
    }
    if let Some(allow) = allow {
        headers.insert(ALLOW, allow);
    }
    Ok(response.into_response(body))
}

/// An error that is not ours, by its status; its text may say too much.
fn foreign(status: StatusCode) -> ApiError {
    match status {
        StatusCode::NOT_FOUND => ApiError::NotFound("path"),
        StatusCode::METHOD_NOT_ALLOWED => ApiError::MethodNotAllowed,
        status if status.is_client_error() => {
            ApiError::Malformed("the request cannot be read".to_owned())
        }
        _ => ApiError::Internal(anyhow::anyhow!("status {status}")),
    }
}
