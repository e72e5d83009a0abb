//! The effect of an attempt's outcome on the job: retry, wait or finish, with the last log entries.

#[cfg(test)]
mod tests;

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::Value;
use shared::asset::StoreError;
use shared::db::claim::Claimed;
use shared::db::log::{RunTransition, finish};
use shared::event::{
    ApprovalRequested, EventData, JobRetrying, JobWaiting, LogLevel, LogLine, RetryCause,
    WaitReason,
};
use shared::id::ApprovalId;
use shared::job::{Job, JobError, JobErrorCode, JobResult, LoopStop, Outcome};
use shared::limits::Limits;
use shared::message::ToolCall;

use super::backoff;
use super::outcome::AttemptOutcome;
use super::partial_result::PartialResult;
use super::unreadable::{is_unreadable, retry_or_fail};

/// The number of attempts that may end with an outage of the provider before the job fails.
const MAX_MODEL_OUTAGES: i16 = 5;
/// The number of attempts after which an outage of the database or the asset store counts as an internal error.
const MAX_ATTEMPTS_IN_OUTAGES: i32 = 100;
/// The state of the job that a decision depends on.
pub(super) struct AttemptState<'a> {
    pub(super) job: &'a Job,
    pub(super) limits: Limits,
    /// The number of attempts that may end with an internal error before the job fails.
    pub(super) max_attempts: i16,
    /// The number of earlier attempts that ended with an internal error.
    pub(super) failures: i16,
    /// The number of earlier attempts that ended with an outage of the provider.
    pub(super) model_outages: i16,
    /// The number of earlier attempts on workers whose release could not read the job.
    pub(super) unreadable: i16,
    /// Whether the job should have outputs.
    pub(super) declares_outputs: bool,
    pub(super) now: DateTime<Utc>,
}

impl<'a> AttemptState<'a> {
    pub(super) fn new(claimed: &'a Claimed, now: DateTime<Utc>, declares_outputs: bool) -> Self {
        Self {
            job: &claimed.job,
            limits: claimed.request.limits,
            max_attempts: claimed.request.max_attempts,
            failures: claimed.failures,
            model_outages: claimed.model_outages,
            unreadable: claimed.unreadable,
            declares_outputs,
            now,
        }
    }
}

/// The last log entries of a lease, and the resulting transition of the job.
pub(super) struct AttemptDecision {
    pub(super) events: Vec<EventData>,
    pub(super) next: RunTransition,
    /// The error to report to the operator.
    pub(super) report: Option<AttemptReport>,
}

/// An error of an attempt, for the operator.
pub(super) struct AttemptReport {
    pub(super) error: anyhow::Error,
    pub(super) kind: AttemptReportKind,
}

/// The kind of an error of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AttemptReportKind {
    /// The database or the asset store is unreachable. The message says which.
    Outage(&'static str),
    /// Another release wrote the job.
    Unreadable,
    /// An internal error.
    Internal,
}

/// Decides the effect of an outcome on the job. Returns `None` if the lease is lost, because there is nothing to write.
pub(super) fn decide(
    outcome: AttemptOutcome,
    state: &AttemptState<'_>,
    partial: PartialResult,
) -> Option<AttemptDecision> {
    let PartialResult {
        result,
        structured,
        unanswered,
    } = partial;
    let mut decision = match outcome {
        AttemptOutcome::Lost => return None,
        AttemptOutcome::Stopped(stop) => complete(state, result, structured, stop),
        AttemptOutcome::Failed(error) => fail(state, result, error),
        AttemptOutcome::Cancelled => end(state, Outcome::Cancelled, result),
        AttemptOutcome::Waiting(calls) => wait(state, calls),
        AttemptOutcome::Drained => {
            let message = "the worker is shutting down".to_owned();
            retry(state, RetryCause::Drain, message, Duration::ZERO)
        }
        AttemptOutcome::ModelOutage {
            message,
            retry_after,
        } => model_outage(state, result, message, retry_after),
        AttemptOutcome::ProviderPause {
            message,
            retry_after,
        } => {
            let pause = backoff::after_provider_pause(retry_after);
            retry(state, RetryCause::ProviderPause, message, pause)
        }
        AttemptOutcome::Internal(error) => internal(state, result, error),
    };
    if matches!(decision.next, RunTransition::Finish { .. }) {
        decision.events.splice(0..0, unanswered);
    }
    Some(decision)
}

fn end(state: &AttemptState<'_>, outcome: Outcome, result: JobResult) -> AttemptDecision {
    let (last, next) = finish(state.job.clone(), outcome, state.now, result);
    AttemptDecision {
        events: vec![last],
        next,
        report: None,
    }
}

/// Completes the job, or fails it if a required structured result is missing or invalid.
fn complete(
    state: &AttemptState<'_>,
    result: JobResult,
    structured: Option<Result<Value, String>>,
    stop: LoopStop,
) -> AttemptDecision {
    let is_empty = state.declares_outputs && result.outputs.is_empty();
    let warnings = warnings(stop, &state.limits, is_empty);
    let lines: Vec<_> = warnings.iter().map(|it| warning_line(it)).collect();
    let result = JobResult {
        stop_reason: Some(stop),
        warnings,
        ..result
    };
    let mut decision = match structured {
        Some(Err(problem)) => fail(state, result, JobErrorCode::ResultInvalid.with(problem)),
        structured => {
            let structured = structured.and_then(Result::ok);
            let result = JobResult {
                result: structured,
                ..result
            };
            end(state, Outcome::Completed, result)
        }
    };
    decision.events.splice(0..0, lines);
    decision
}

fn fail(state: &AttemptState<'_>, result: JobResult, error: JobError) -> AttemptDecision {
    let result = JobResult {
        error: Some(error),
        ..result
    };
    end(state, Outcome::Failed, result)
}

fn retry(
    state: &AttemptState<'_>,
    cause: RetryCause,
    message: String,
    pause: Duration,
) -> AttemptDecision {
    let run_at = state.now + pause;
    let last = EventData::JobRetrying(JobRetrying {
        cause,
        message,
        run_at,
    });
    AttemptDecision {
        events: vec![last],
        next: RunTransition::Requeue { cause, run_at },
        report: None,
    }
}

/// Requests approvals. The job has no worker while it waits.
fn wait(state: &AttemptState<'_>, calls: Vec<ToolCall>) -> AttemptDecision {
    let patience = state.limits.approval_timeout_seconds;
    let until = state.now + Duration::from_secs(patience.into());
    let requested = calls.into_iter().map(|call| {
        EventData::ApprovalRequested(ApprovalRequested {
            approval_id: ApprovalId::new(),
            call_id: call.call_id,
            tool: call.tool,
            input: call.input,
            expires_at: until,
        })
    });
    let waiting = EventData::JobWaiting(JobWaiting {
        reason: WaitReason::Approval,
        until,
    });
    AttemptDecision {
        events: requested.chain([waiting]).collect(),
        next: RunTransition::Wait,
        report: None,
    }
}

fn model_outage(
    state: &AttemptState<'_>,
    result: JobResult,
    message: String,
    retry_after: Option<Duration>,
) -> AttemptDecision {
    if state.model_outages + 1 >= MAX_MODEL_OUTAGES {
        return fail(state, result, JobErrorCode::ModelUnavailable.with(message));
    }
    let pause = backoff::after_model_outage(state.model_outages, retry_after);
    retry(state, RetryCause::ModelOutage, message, pause)
}

fn internal(state: &AttemptState<'_>, result: JobResult, error: anyhow::Error) -> AttemptDecision {
    let (decision, kind) = if let Some(cause) = outage(&error)
        && state.job.attempt < MAX_ATTEMPTS_IN_OUTAGES
    {
        let message = match cause {
            RetryCause::StorageOutage => "the asset store was unavailable",
            _ => "the database was unavailable",
        };
        let earlier = i16::try_from(state.job.attempt - 1).unwrap_or(i16::MAX);
        let pause = backoff::after_outage(earlier);
        let decision = retry(state, cause, message.to_owned(), pause);
        (decision, AttemptReportKind::Outage(message))
    } else if is_unreadable(&error) {
        let (last, next) = retry_or_fail(state.job, state.now, state.unreadable, result);
        let decision = AttemptDecision {
            events: vec![last],
            next,
            report: None,
        };
        (decision, AttemptReportKind::Unreadable)
    } else if state.failures + 1 >= state.max_attempts {
        let error = JobErrorCode::Internal.with("internal error");
        (fail(state, result, error), AttemptReportKind::Internal)
    } else {
        let pause = backoff::after_failure(state.failures);
        let message = "internal error".to_owned();
        let decision = retry(state, RetryCause::Failure, message, pause);
        (decision, AttemptReportKind::Internal)
    };
    AttemptDecision {
        report: Some(AttemptReport { error, kind }),
        ..decision
    }
}

/// Returns the outage that caused an error, if any.
fn outage(error: &anyhow::Error) -> Option<RetryCause> {
    error.chain().find_map(|cause| {
        if cause.downcast_ref().is_some_and(shared::db::is_outage) {
            Some(RetryCause::DatabaseOutage)
        } else if cause.downcast_ref().is_some_and(StoreError::is_outage) {
            Some(RetryCause::StorageOutage)
        } else {
            None
        }
    })
}

/// Returns the warnings for a job that did not end by itself. `is_empty` means that the job lacks the
/// files that its skill makes.
fn warnings(stop: LoopStop, limits: &Limits, is_empty: bool) -> Vec<String> {
    let warning = match stop {
        LoopStop::EndTurn => return Vec::new(),
        LoopStop::MaxTokens => format!(
            "the last reply was cut at limits.max_tokens ({}); run the job again with a higher limit",
            limits.max_tokens
        ),
        LoopStop::ContextFull => {
            "the last reply was cut because the model's context was full".to_owned()
        }
        LoopStop::Refusal => "the model declined to continue".to_owned(),
        LoopStop::MaxIterations => {
            format!(
                "stopped after limits.max_iterations ({}) replies; the work may not be finished: run the job again with a higher \
                 limit",
                limits.max_iterations
            )
        }
        LoopStop::RepeatedCall => {
            "the model repeated the same call too often; the work may not be finished".to_owned()
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
    let empty = "the job ended before it made any file".to_owned();
    [warning]
        .into_iter()
        .chain(is_empty.then_some(empty))
        .collect()
}

/// Returns a warning for the job's log.
pub(super) fn warning_line(message: &str) -> EventData {
    EventData::Log(LogLine {
        level: LogLevel::Warning,
        message: message.to_owned(),
    })
}
