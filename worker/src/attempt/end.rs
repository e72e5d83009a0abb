//! How an attempt ends: what that means for the job, and its last entries in the log.

use std::time::Duration;

use shared::db::claim::Claimed;
use shared::db::log::{Next, finish};
use shared::event::{
    ApprovalRequested, EventData, JobRetrying, JobWaiting, LogLevel, LogLine, RetryCause,
    WaitReason,
};
use shared::id::ApprovalId;
use shared::job::{JobError, JobErrorCode, JobResult, LoopStop, Outcome};
use shared::message::ToolCall;
use shared::telemetry::trace::Span;

use super::left::Left;
use super::unreadable::{is_unreadable, last_words};
use super::{Clock, Fault, Interrupt};
use crate::log::JobLog;
use crate::model::ModelError;
use crate::run_loop::LoopError;
use crate::shop::Shop;
use crate::telemetry::Close;
use crate::tool::ExecuteError;

/// Attempts that the provider may end before the job fails.
const MAX_MODEL_OUTAGES: i16 = 5;
/// The pause after the first of them, doubled each time.
const OUTAGE_PAUSE: Duration = Duration::from_secs(10);
/// The longest pause that a provider may ask for: it may be wrong by years. The job's time does not run meanwhile.
const MAX_OUTAGE_PAUSE: Duration = Duration::from_secs(60 * 60);
/// Attempts after which it counts as a fault of ours that the database was out of reach.
const MAX_ATTEMPTS_IN_OUTAGES: i32 = 100;
/// How often the pause after such an attempt is doubled.
const MAX_OUTAGE_DOUBLINGS: i16 = 5;
/// The pause after a fault of ours, doubled each time.
const FAILURE_PAUSE: Duration = Duration::from_secs(1);

/// How an attempt ended.
pub(super) enum End {
    /// The loop came to its end.
    Stopped(LoopStop),
    /// The job failed.
    Failed(JobError),
    /// Someone asked for it.
    Cancelled,
    /// These calls wait for people.
    Waiting(Vec<ToolCall>),
    /// The worker is leaving.
    Drained,
    /// The provider is out of reach.
    ModelOutage {
        message: String,
        retry_after: Option<Duration>,
    },
    /// A fault of ours.
    Fault(anyhow::Error),
    /// Another worker has the job: there is nothing that we could say.
    Lost,
}

impl From<Interrupt> for End {
    fn from(interrupt: Interrupt) -> Self {
        match interrupt {
            Interrupt::Cancelled => Self::Cancelled,
            Interrupt::Lost => Self::Lost,
            Interrupt::Leaving => Self::Drained,
        }
    }
}

impl From<Fault> for End {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Job(error) => Self::Failed(error),
            Fault::Ours(error) => Self::Fault(error),
        }
    }
}

impl From<LoopError> for End {
    fn from(error: LoopError) -> Self {
        match error {
            LoopError::Drained => Self::Drained,
            LoopError::Job(error) => Self::Failed(error),
            LoopError::Unasked(calls) => Self::Waiting(calls),
            error @ LoopError::Unsaved => Self::Fault(error.into()),
            LoopError::LeaseLost(_) | LoopError::Execute(ExecuteError::LeaseLost(_)) => Self::Lost,
            LoopError::Execute(ExecuteError::Tool(error)) => Self::Fault(error),
            LoopError::Model(error) if error.is_retryable() => Self::ModelOutage {
                message: error.to_string(),
                retry_after: error.retry_after(),
            },
            LoopError::Model(error @ ModelError::Refused { .. }) => {
                Self::Failed(JobErrorCode::ModelRefused.with(error.to_string()))
            }
            LoopError::Model(error) => Self::Fault(error.into()),
            LoopError::Database(error) => Self::Fault(error.into()),
        }
    }
}

impl End {
    /// Says in the attempt's span how it ended.
    fn describe(&self, span: &Span) {
        let (end, error) = match self {
            Self::Stopped(stop) => (stop.as_str(), None),
            Self::Failed(error) => ("failed", Some(error.code.as_str())),
            Self::Cancelled => ("cancelled", None),
            Self::Waiting(_) => ("waiting", None),
            Self::Drained => ("drained", None),
            Self::ModelOutage { .. } => ("model_outage", Some("model_outage")),
            Self::Fault(_) => ("fault", Some("internal")),
            Self::Lost => ("lost", Some("lease_lost")),
        };
        span.set("skillet.attempt.end", || end);
        if let Some(error) = error {
            span.fail(error);
        }
    }
}

/// Writes the last entries of the lease, and returns whether the job is over with them. `left` is what there is,
/// should it be.
pub(super) async fn close(
    shop: &Shop,
    span: &Span,
    log: JobLog,
    claimed: &Claimed,
    clock: &Clock,
    left: Left,
    end: End,
) -> bool {
    end.describe(span);
    let Left { result, unanswered } = left;
    let (mut events, last, next) = match end {
        End::Lost => return false,
        End::Stopped(stop) => {
            let warnings = warnings(stop, claimed);
            let events = warnings.iter().map(|warning| log_line(warning)).collect();
            let result = JobResult {
                stop_reason: Some(stop),
                warnings,
                ..result
            };
            let (last, next) = finish(claimed.job.clone(), Outcome::Completed, clock.now(), result);
            (events, last, next)
        }
        End::Failed(error) => fail(claimed, clock, result, error),
        End::Cancelled => {
            let (last, next) = finish(claimed.job.clone(), Outcome::Cancelled, clock.now(), result);
            (Vec::new(), last, next)
        }
        End::Waiting(calls) => wait(claimed, clock, calls),
        End::Drained => retry(
            clock,
            RetryCause::Drain,
            "the worker is leaving".to_owned(),
            Duration::ZERO,
        ),
        End::ModelOutage { message, .. } if claimed.model_outages + 1 >= MAX_MODEL_OUTAGES => fail(
            claimed,
            clock,
            result,
            JobErrorCode::ModelUnavailable.with(message),
        ),
        End::ModelOutage {
            message,
            retry_after,
        } => {
            let pause = outage_pause(claimed.model_outages, retry_after);
            retry(clock, RetryCause::ModelOutage, message, pause)
        }
        End::Fault(error)
            if is_database_outage(&error) && claimed.job.attempt < MAX_ATTEMPTS_IN_OUTAGES =>
        {
            tracing::warn!(job = %claimed.job.id, error = format!("{error:#}"), "the database failed an attempt");
            let earlier = i16::try_from(claimed.job.attempt - 1).unwrap_or(i16::MAX);
            retry(
                clock,
                RetryCause::DatabaseOutage,
                "the database was out of reach".to_owned(),
                doubled(FAILURE_PAUSE, earlier.min(MAX_OUTAGE_DOUBLINGS)),
            )
        }
        End::Fault(error) if is_unreadable(&error) => {
            tracing::warn!(job = %claimed.job.id, error = format!("{error:#}"), "a job was written by another release");
            let (last, next) = last_words(&claimed.job, clock.now(), claimed.unreadable, result);
            (Vec::new(), last, next)
        }
        End::Fault(error) => {
            let error = format!("{error:#}");
            let error = log.redact(&error);
            tracing::error!(job = %claimed.job.id, %error, "an attempt failed");
            if claimed.failures + 1 >= claimed.request.max_attempts {
                fail(
                    claimed,
                    clock,
                    result,
                    JobErrorCode::Internal.with("internal error"),
                )
            } else {
                let pause = doubled(FAILURE_PAUSE, claimed.failures);
                retry(
                    clock,
                    RetryCause::Failure,
                    "internal error".to_owned(),
                    pause,
                )
            }
        }
    };
    events.push(last);
    let is_over = matches!(next, Next::Finish { .. });
    if is_over {
        events.splice(0..0, unanswered);
    }
    let close = Close::from(&next);
    let is_written = log.close(events, next).await.is_ok();
    if is_written {
        shop.meters.closed(&claimed.job, close);
    } else {
        tracing::warn!(job = %claimed.job.id, "the lease was lost before the attempt's end");
    }
    is_over && is_written
}

/// Whether the database was out of reach, which is no fault of the job or of ours.
fn is_database_outage(error: &anyhow::Error) -> bool {
    let mut causes = error.chain().filter_map(|cause| cause.downcast_ref());
    causes.any(shared::db::is_outage)
}

type LastWords = (Vec<EventData>, EventData, Next);

fn fail(claimed: &Claimed, clock: &Clock, result: JobResult, error: JobError) -> LastWords {
    let result = JobResult {
        error: Some(error),
        ..result
    };
    let (last, next) = finish(claimed.job.clone(), Outcome::Failed, clock.now(), result);
    (Vec::new(), last, next)
}

fn retry(clock: &Clock, cause: RetryCause, message: String, pause: Duration) -> LastWords {
    let run_at = clock.now() + pause;
    let last = EventData::JobRetrying(JobRetrying {
        cause,
        message,
        run_at,
    });
    (Vec::new(), last, Next::Requeue { cause, run_at })
}

/// Asks people, and leaves the job to whoever will be free when they have answered.
fn wait(claimed: &Claimed, clock: &Clock, calls: Vec<ToolCall>) -> LastWords {
    let patience = claimed.request.limits.approval_timeout_seconds;
    let until = clock.now() + Duration::from_secs(patience.into());
    let requested = calls.into_iter().map(|call| {
        EventData::ApprovalRequested(ApprovalRequested {
            approval_id: ApprovalId::new(),
            call_id: call.call_id,
            tool: call.tool,
            input: call.input,
            expires_at: until,
        })
    });
    let last = EventData::JobWaiting(JobWaiting {
        reason: WaitReason::Approval,
        until,
    });
    (requested.collect(), last, Next::Wait)
}

/// The pause after so many outages before: what the provider asked for, if it is longer than ours.
fn outage_pause(earlier: i16, retry_after: Option<Duration>) -> Duration {
    let asked = retry_after.unwrap_or_default();
    doubled(OUTAGE_PAUSE, earlier)
        .max(asked)
        .min(MAX_OUTAGE_PAUSE)
}

fn doubled(pause: Duration, times: i16) -> Duration {
    pause.saturating_mul(1 << times.clamp(0, 10))
}

fn warnings(stop: LoopStop, claimed: &Claimed) -> Vec<String> {
    let limits = claimed.request.limits;
    let warning = match stop {
        LoopStop::EndTurn => return Vec::new(),
        LoopStop::MaxTokens => format!(
            "the last reply was cut at limits.max_tokens ({})",
            limits.max_tokens
        ),
        LoopStop::ContextFull => {
            "the last reply was cut where the model's context was full".to_owned()
        }
        LoopStop::Refusal => "the model declined to go on".to_owned(),
        LoopStop::MaxIterations => {
            format!(
                "stopped after limits.max_iterations ({}) replies; the work may not be finished",
                limits.max_iterations
            )
        }
        LoopStop::RepeatedCall => {
            "the model made the same call again and again; the work may not be finished".to_owned()
        }
        LoopStop::MaxTotalTokens => format!(
            "stopped at limits.max_total_tokens ({}); the work may not be finished",
            limits.max_total_tokens.unwrap_or_default()
        ),
        LoopStop::MaxCostUsd => format!(
            "stopped at limits.max_cost_usd ({}); the work may not be finished",
            limits.max_cost_usd.unwrap_or_default()
        ),
        LoopStop::TenantBudget => {
            "stopped at the budget of the tenant for this month; the work may not be finished"
                .to_owned()
        }
    };
    vec![warning]
}

/// A warning in the job's log.
pub(super) fn log_line(message: &str) -> EventData {
    EventData::Log(LogLine {
        level: LogLevel::Warning,
        message: message.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use chrono::Utc;

    use super::*;

    #[test]
    fn a_provider_may_ask_for_an_hour_and_no_more() {
        let seconds = |earlier, asked| outage_pause(earlier, asked).as_secs();
        assert_eq!(seconds(0, None), 10);
        assert_eq!(seconds(2, Some(Duration::from_secs(30))), 40);
        assert_eq!(seconds(2, Some(Duration::from_secs(90))), 90);
        assert_eq!(seconds(i16::MAX, Some(Duration::MAX)), 3600);
        for asked in [31_536_000.0, 1e19] {
            let asked = Some(Duration::from_secs_f64(asked));
            assert_eq!(seconds(0, asked), 3600);
            // A date that there is.
            let _ = Utc::now() + outage_pause(0, asked);
        }
    }
}
