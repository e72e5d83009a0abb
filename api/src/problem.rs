//! API errors, which clients receive as problem details (RFC 9457).

mod code;
pub(crate) mod pages;
mod render;

pub use code::ErrorCode;
pub(crate) use render::{answer, render};

use std::fmt;
use std::time::Duration;

use actix_web::ResponseError;
use actix_web::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use shared::db;
use shared::id::InvalidId;
pub use skillet_wire::problem::{FieldError, Problem};

/// The maximum number of errors in a response. A large request may have the same mistake thousands of times.
pub(crate) const MAX_ERRORS: usize = 100;

/// The reason that a request failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The request is malformed.
    #[error("{0}")]
    Malformed(String),
    /// The request has no valid credential.
    #[error("send a key of this service as `Authorization: Bearer sk_…`")]
    Unauthorized,
    /// The API key is unknown.
    #[error(
        "this key is not known to the service: it may be mistyped, revoked, or the key of another service"
    )]
    UnknownKey,
    /// The one-time code of a session is unknown, used, or expired.
    #[error(
        "this code is not known to the service, was used, or is older than 60 seconds; run `skillet open` again"
    )]
    UnknownCode,
    /// The short-lived token is unknown or expired.
    #[error(
        "this token is not known to the service, or has expired; make another with POST /v1/jobs/{{job_id}}/tokens"
    )]
    UnknownToken,
    /// The API key lacks the required scope.
    #[error("this key lacks the scope `{0}`")]
    Forbidden(&'static str),
    /// A short-lived token was used for something other than reading its job.
    #[error(
        "this token can only read its job, the job's events and stream, and the content of the job's files"
    )]
    TokenRestricted,
    /// A session cookie was sent from a page of another origin.
    #[error(
        "a session is only valid for requests from pages of this service; send an API key instead"
    )]
    CrossSite,
    /// The origin of the page may not call the API.
    #[error(
        "pages of this origin may not call the API; the service allows origins with --cors-origin"
    )]
    OriginNotAllowed,
    /// The resource does not exist, or belongs to another tenant.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The path contains an invalid id.
    #[error("there is no {} `{text}`: it {reason}", reason.expected().noun())]
    InvalidId {
        /// The text in the path.
        text: String,
        /// The reason that the text is not a valid id.
        reason: InvalidId,
    },
    /// The path exists, but without the trailing slash.
    #[error("there is no such path; remove the trailing slash")]
    TrailingSlash,
    /// The path does not support the method.
    #[error("this path does not support this method")]
    MethodNotAllowed {
        /// The supported methods, as the header `Allow` lists them.
        allowed: String,
    },
    /// The body arrived too slowly.
    #[error(
        "the body arrived too slowly: send at least {bytes_per_second} bytes a second, with pauses of at most {} s",
        stall.as_secs()
    )]
    BodyTooSlow {
        /// The minimum rate of a body.
        bytes_per_second: u32,
        /// The longest time that a body may stall.
        stall: Duration,
    },
    /// The content does not match `If-Match`.
    #[error("the content does not match `If-Match`; its ETag is {etag}")]
    PreconditionFailed {
        /// The ETag of the content.
        etag: String,
    },
    /// The requested range begins after the end of the content.
    #[error("the content has only {size} bytes")]
    RangeNotSatisfiable {
        /// The size of the content in bytes.
        size: u64,
    },
    /// The request conflicts with the current state.
    #[error("{detail}")]
    Conflict {
        /// The error code.
        code: ErrorCode,
        /// The error message.
        detail: String,
    },
    /// The body is too large.
    #[error("the body is larger than {limit} bytes; send files to POST /v1/assets first")]
    TooLarge {
        /// The maximum size in bytes.
        limit: u64,
    },
    /// The body has too many values.
    #[error("the body has more than {limit} values")]
    TooManyValues {
        /// The maximum number of values.
        limit: usize,
    },
    /// The media type of the body is not supported.
    #[error("the body must be {0}")]
    UnsupportedMediaType(&'static str),
    /// The tenant has used up its budget for the month.
    #[error("the budget for this month is used up; it is renewed at {}", .renewed_at.to_rfc3339())]
    BudgetExceeded {
        /// The time at which the budget is renewed.
        renewed_at: DateTime<Utc>,
    },
    /// The tenant exceeds its submission rate.
    #[error("rate limit exceeded: this tenant submits jobs too fast; retry in {} s", seconds(*.wait))]
    SubmitRateExceeded {
        /// The time until the tenant may submit again.
        wait: TimeDelta,
    },
    /// The tenant has too many unfinished jobs.
    #[error("this tenant has too many unfinished jobs; retry when some have ended")]
    QueueFull {
        /// The time until the limit is checked again.
        wait: TimeDelta,
    },
    /// Fields of the request are invalid.
    #[error("{} of the request cannot be used", count_fields(.0.len()))]
    Invalid(Vec<FieldError>),
    /// The content of a file is missing from the asset store and cannot be recovered.
    #[error(
        "the content of this file has been lost; upload it again, or retry the job that made it"
    )]
    ContentLost,
    /// Events after the cursor may be missing.
    #[error(
        "events after this cursor may be missing; list the jobs, and follow the stream without a cursor"
    )]
    CursorExpired,
    /// The skill of a job was replaced while the job was accepted.
    #[error("the skill was replaced while the job was being accepted; send the request again")]
    SkillReplaced,
    /// The idempotency key was used with a different request.
    #[error(
        "this Idempotency-Key was used with a different request; use a new key for each new request"
    )]
    IdempotencyMismatch,
    /// The operation needs configuration by the operator.
    #[error("{0}")]
    NotConfigured(&'static str),
    /// The service is temporarily unavailable.
    #[error("the service is temporarily unavailable")]
    Unavailable(#[source] anyhow::Error),
    /// An internal error.
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

/// Returns the duration in whole seconds, rounded up.
fn seconds(wait: TimeDelta) -> i64 {
    wait.num_seconds() + i64::from(wait.subsec_nanos() > 0)
}

impl From<db::Error> for ApiError {
    fn from(error: db::Error) -> Self {
        match error {
            error if db::skill::is_version_in_use(&error) => Self::SkillReplaced,
            error if db::is_outage(&error) => Self::Unavailable(error.into()),
            error if db::job::is_clock_skew(&error) => Self::Unavailable(error.into()),
            error => Self::Internal(error.into()),
        }
    }
}

impl From<db::blob::BlobError> for ApiError {
    fn from(error: db::blob::BlobError) -> Self {
        match error {
            db::blob::BlobError::Database(error) => error.into(),
            db::blob::BlobError::Store(error) => error.into(),
            error @ db::blob::BlobError::DeletionTimeout => Self::Unavailable(error.into()),
        }
    }
}

impl From<shared::asset::StoreError> for ApiError {
    fn from(error: shared::asset::StoreError) -> Self {
        Self::Unavailable(error.into())
    }
}

impl ApiError {
    /// Creates the error for a single invalid field.
    pub fn field(pointer: impl Into<String>, detail: impl fmt::Display) -> Self {
        Self::Invalid(vec![FieldError::new(pointer, detail.to_string())])
    }

    fn code(&self) -> ErrorCode {
        match self {
            Self::Malformed(_) => ErrorCode::MalformedRequest,
            Self::Unauthorized | Self::UnknownKey | Self::UnknownCode | Self::UnknownToken => {
                ErrorCode::Unauthorized
            }
            Self::Forbidden(_) | Self::TokenRestricted => ErrorCode::Forbidden,
            Self::CrossSite => ErrorCode::CrossSite,
            Self::OriginNotAllowed => ErrorCode::OriginNotAllowed,
            Self::NotFound(_) | Self::InvalidId { .. } | Self::TrailingSlash => ErrorCode::NotFound,
            Self::MethodNotAllowed { .. } => ErrorCode::MethodNotAllowed,
            Self::BodyTooSlow { .. } => ErrorCode::BodyTooSlow,
            Self::PreconditionFailed { .. } => ErrorCode::PreconditionFailed,
            Self::RangeNotSatisfiable { .. } => ErrorCode::RangeNotSatisfiable,
            Self::Conflict { code, .. } => *code,
            Self::TooLarge { .. } | Self::TooManyValues { .. } => ErrorCode::TooLarge,
            Self::UnsupportedMediaType(_) => ErrorCode::UnsupportedMediaType,
            Self::BudgetExceeded { .. } => ErrorCode::BudgetExceeded,
            Self::SubmitRateExceeded { .. } => ErrorCode::SubmitRateExceeded,
            Self::QueueFull { .. } => ErrorCode::QueueFull,
            Self::Invalid(_) => ErrorCode::InvalidRequest,
            Self::ContentLost => ErrorCode::ContentLost,
            Self::CursorExpired => ErrorCode::CursorExpired,
            Self::SkillReplaced => ErrorCode::SkillReplaced,
            Self::IdempotencyMismatch => ErrorCode::IdempotencyKeyReused,
            Self::NotConfigured(_) => ErrorCode::NotConfigured,
            Self::Unavailable(_) => ErrorCode::Unavailable,
            Self::Internal(_) => ErrorCode::Internal,
        }
    }

    /// Converts the error to problem details.
    pub(crate) fn problem(&self, request_id: Option<String>) -> Problem {
        let status = self.status_code();
        Problem {
            r#type: self.code().url(),
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            status: status.as_u16(),
            code: self.code().as_str().to_owned(),
            detail: self.to_string(),
            errors: if let Self::Invalid(errors) = self {
                errors.iter().take(MAX_ERRORS).cloned().collect()
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
            | Self::BodyTooSlow { .. }
            | Self::SkillReplaced => true,
            Self::NotConfigured(_) => false,
            _ => self.status_code().is_server_error(),
        }
    }

    /// Returns the number of seconds after which the same request may succeed, if known.
    fn retry_after(&self) -> Option<i64> {
        match self {
            Self::BudgetExceeded { renewed_at } => {
                Some((*renewed_at - shared::clock::now()).num_seconds().max(0) + 1)
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
        self.code().status()
    }
}
