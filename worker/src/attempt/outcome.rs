//! The outcome of an attempt, before its effect on the job is decided.

use std::time::Duration;

use shared::job::{JobError, JobErrorCode, LoopStop};
use shared::message::ToolCall;
use shared::telemetry::trace::Span;
use worker_model::ModelError;

use super::signals::Interrupt;
use crate::attempt_error::AttemptError;
use crate::loop_error::LoopError;

/// The outcome of an attempt.
pub(super) enum AttemptOutcome {
    /// The loop ended.
    Stopped(LoopStop),
    /// The job failed.
    Failed(JobError),
    /// The job was cancelled.
    Cancelled,
    /// These tool calls wait for approval.
    Waiting(Vec<ToolCall>),
    /// The worker is draining.
    Drained,
    /// The provider is unreachable.
    ModelOutage {
        message: String,
        retry_after: Option<Duration>,
    },
    /// The provider allows no requests for some time.
    ProviderPause {
        message: String,
        retry_after: Duration,
    },
    /// An internal error.
    Internal(anyhow::Error),
    /// Another worker has the job, so this one has nothing to write.
    Lost,
}

impl From<Interrupt> for AttemptOutcome {
    fn from(interrupt: Interrupt) -> Self {
        match interrupt {
            Interrupt::Cancelled => Self::Cancelled,
            Interrupt::Lost => Self::Lost,
            Interrupt::Leaving => Self::Drained,
        }
    }
}

impl From<AttemptError> for AttemptOutcome {
    fn from(error: AttemptError) -> Self {
        match error {
            AttemptError::Job(error) => Self::Failed(error),
            AttemptError::Internal(error) => Self::Internal(error),
        }
    }
}

impl From<LoopError> for AttemptOutcome {
    fn from(error: LoopError) -> Self {
        match error {
            LoopError::Drained => Self::Drained,
            LoopError::Job(error) => Self::Failed(error),
            LoopError::AwaitsApproval(calls) => Self::Waiting(calls),
            LoopError::LeaseLost(_) => Self::Lost,
            LoopError::Tool(error) => Self::Internal(error),
            LoopError::Model(ref error @ ModelError::Paused { retry_after, .. }) => {
                Self::ProviderPause {
                    message: error.to_string(),
                    retry_after,
                }
            }
            LoopError::Model(error) if error.is_outage() => Self::ModelOutage {
                message: error.to_string(),
                retry_after: error.retry_after(),
            },
            LoopError::Model(
                error @ (ModelError::Refused { .. } | ModelError::ContextExceeded { .. }),
            ) => Self::Failed(JobErrorCode::ModelRefused.with(error.to_string())),
            LoopError::Model(error) => Self::Internal(error.into()),
            LoopError::Database(error) => Self::Internal(error.into()),
            error @ LoopError::Unsaved => Self::Internal(error.into()),
        }
    }
}

impl AttemptOutcome {
    /// Records the outcome in the attempt's span.
    pub(super) fn describe(&self, span: &Span) {
        let (end, error) = match self {
            Self::Stopped(stop) => (stop.as_str(), None),
            Self::Failed(error) => ("failed", Some(error.code.as_str())),
            Self::Cancelled => ("cancelled", None),
            Self::Waiting(_) => ("waiting", None),
            Self::Drained => ("drained", None),
            Self::ModelOutage { .. } => ("model_outage", Some("model_outage")),
            Self::ProviderPause { .. } => ("provider_pause", None),
            Self::Internal(_) => ("fault", Some("internal")),
            Self::Lost => ("lost", Some("lease_lost")),
        };
        span.set("skillet.attempt.end", || end);
        if let Some(error) = error {
            span.fail(error);
        }
    }
}
