//! Errors as clients see them: problem details (RFC 9457), whatever went wrong and wherever.

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
    /// A one-time code of a session is none of ours, was used, or is over.
    #[error(
        "this code is not known to the service, was used, or is older than 60 seconds; run `skillet open` again"
    )]
    UnknownCode,
    /// There is a short-lived token, and it is none of ours or over.
    #[error(
        "this token is not known to the service, or has expired; make another with POST /v1/jobs/{{job_id}}/tokens"
    )]
    UnknownToken,
    /// The key may not do this.
    #[error("this key lacks the scope `{0}`")]
    Forbidden(&'static str),
    /// A short-lived token was used for something else than its job.
    #[error(
        "this token only reads its job, the job's events and stream, and the content of the job's files"
    )]
    TokenRestricted,
    /// A session cookie came from a page of another site.
    #[error(
        "a session is only valid for requests from pages of this service; send an API key instead"
    )]
    CrossSite,
    /// A page of that origin may not call the API.
    #[error(
        "pages of this origin may not call the API; the service allows origins with --cors-origin"
    )]
    OriginNotAllowed,
    /// There is no such thing, or it is someone else's.
    #[error("there is no such {0}")]
    NotFound(&'static str),
    /// The path has no id of the right kind.
    #[error("there is no {} `{text}`: it {reason}", reason.expected().noun())]
    InvalidId {
        /// What is there instead.
        text: String,
        /// Why it is none.
        reason: InvalidId,
    },
    /// There is such a path but for the slash at its end.
    #[error("there is no such path; leave out the slash at its end")]
    TrailingSlash,
    /// The path knows other methods.
    #[error("this path does not take this method")]
    MethodNotAllowed {
        /// Those, as the header `Allow` lists them.
        allowed: String,
    },
    /// The body came too slowly.
    #[error(
        "the body came too slowly: it may stall for {} s, or come at {bytes_per_second} bytes a second",
        stall.as_secs()
    )]
    BodyTooSlow {
        /// The minimum rate.
        bytes_per_second: u32,
        /// The longest that it may stall.
        stall: Duration,
    },
    /// `If-Match` names other content.
    #[error("the content is not what `If-Match` names; its ETag is {etag}")]
    PreconditionFailed {
        /// That of the content.
        etag: String,
    },
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
        code: ErrorCode,
        /// For people.
        detail: String,
    },
    /// The body is larger than it may be.
    #[error("the body is larger than {limit} bytes; send files to POST /v1/assets first")]
    TooLarge {
        /// What it may be.
        limit: u64,
    },
    /// The body has more values than it may have.
    #[error("the body has more than {limit} values")]
    TooManyValues {
        /// What it may have.
        limit: usize,
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
    #[error("rate limit exceeded: this tenant submits jobs too fast; retry in {} s", seconds(*.wait))]
    SubmitRateExceeded {
        /// After that time they may come.
        wait: TimeDelta,
    },
    /// Too many of the tenant's jobs have not ended.
    #[error("this tenant has too many unfinished jobs; retry when some have ended")]
    QueueFull {
        /// When it is looked at again.
        wait: TimeDelta,
    },
    /// The request can be read and makes no sense.
    #[error("{} of the request cannot be used", count_fields(.0.len()))]
    Invalid(Vec<FieldError>),
    /// The bytes of a file are not where they should be, and nobody can bring them back.
    #[error(
        "the content of this file has been lost; upload it again, or retry the job that made it"
    )]
    ContentLost,
    /// Events after that cursor may be missing.
    #[error(
        "events after this cursor are not complete any more; list the jobs, and follow the stream without a cursor"
    )]
    CursorExpired,
    /// What a job was to run went while it was accepted.
    #[error("the skill was replaced in this very moment; send the request again")]
    SkillReplaced,
    /// The key of an earlier, other request.
    #[error("this Idempotency-Key was used with another request before")]
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

impl From<db::Error> for ApiError {
    fn from(error: db::Error) -> Self {
        match error {
            error if db::skill::is_held(&error) => Self::SkillReplaced,
            error if db::is_outage(&error) => Self::Unavailable(error.into()),
            error if db::job::is_of_another_time(&error) => Self::Unavailable(error.into()),
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
    /// The error of a single field.
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

    /// The error as a client sees it.
    pub(crate) fn problem(&self, request_id: Option<String>) -> Problem {
        let status = self.status_code();
        Problem {
            r#type: self.code().url(),
            title: status.canonical_reason().unwrap_or_default().to_owned(),
            status: status.as_u16(),
            code: self.code().as_str().to_owned(),
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
            | Self::BodyTooSlow { .. }
            | Self::SkillReplaced => true,
            Self::NotConfigured(_) => false,
            _ => self.status_code().is_server_error(),
        }
    }

    /// In how many seconds the same request may succeed, if that is known.
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
