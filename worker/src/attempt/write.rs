//! The last entries of an attempt's lease.

use shared::db::log::RunTransition;
use shared::telemetry::trace::Span;
use worker_tool::EventSink;

use super::decide::{AttemptDecision, AttemptReport, AttemptReportKind, AttemptState, decide};
use super::outcome::AttemptOutcome;
use super::partial_result::PartialResult;
use crate::log::JobLog;
use crate::telemetry::{Close, WorkerMeters};

/// Writes the last entries of the lease. Returns whether they end the job.
pub(super) async fn write_outcome(
    meters: &WorkerMeters,
    span: &Span,
    log: JobLog,
    state: &AttemptState<'_>,
    partial: PartialResult,
    outcome: AttemptOutcome,
) -> bool {
    outcome.describe(span);
    let Some(AttemptDecision {
        events,
        next,
        report,
    }) = decide(outcome, state, partial)
    else {
        return false;
    };
    if let Some(report) = report {
        tell_operator(&report, state, &log);
    }
    let is_over = matches!(next, RunTransition::Finish { .. });
    let close = Close::from(&next);
    let is_written = log.finish(events, next).await.is_ok();
    if is_written {
        meters.closed(state.job, close);
    } else {
        tracing::warn!(job = %state.job.id, "the lease was lost before the attempt's end");
    }
    is_over && is_written
}

fn tell_operator(report: &AttemptReport, state: &AttemptState<'_>, log: &JobLog) {
    let job = state.job.id;
    let error = format!("{:#}", report.error);
    let error = log.redact(&error);
    match report.kind {
        AttemptReportKind::Outage(what) => {
            tracing::warn!(%job, %error, "an attempt failed: {what}");
        }
        AttemptReportKind::Unreadable => {
            tracing::warn!(%job, %error, "another release wrote the job");
        }
        AttemptReportKind::Internal => tracing::error!(%job, %error, "an attempt failed"),
    }
}
