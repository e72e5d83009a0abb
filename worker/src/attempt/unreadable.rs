//! Jobs that this release cannot read. They are handed back for a worker of the release that wrote them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use shared::db::claim::UnreadableJob;
use shared::db::log::{RunTransition, finish};
use shared::event::{EventData, JobRetrying, RetryCause};
use shared::job::{Job, JobErrorCode, JobResult, Outcome};
use shared::stored::UnreadableRow;
use tokio_util::sync::CancellationToken;

use super::partial_result::PartialResult;
use crate::telemetry::Close;
use crate::worker_context::WorkerContext;

/// The number of attempts that may end this way before the job fails. With the pauses in between, an update of all
/// workers may take almost two hours.
const MAX_UNREADABLE: i16 = 20;
/// The first pause. Each further pause is twice as long, up to the longest pause.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// Hands back a job whose request this release cannot read, or ends it if it was cancelled or handed back too often.
/// If the lease is lost in the process, another worker has the job.
pub(crate) async fn hand_back(
    context: &WorkerContext,
    unreadable: UnreadableJob,
    lost: CancellationToken,
) {
    let UnreadableJob {
        lease,
        job,
        claimed_at,
        ..
    } = unreadable;
    tell_operator(&job, &unreadable.error);
    let ends = unreadable.cancel_requested || is_last(unreadable.unreadable);
    let partial = match ends {
        true => PartialResult::read(&context.pool, &job).await,
        false => Ok(PartialResult::default()),
    };
    let partial = match partial {
        Ok(partial) => partial,
        Err(error) => {
            // The reaper takes over, because no attempt holds the lease any more.
            let error = &error as &dyn std::error::Error;
            tracing::warn!(job = %job.id, error, "a job could not be ended");
            return;
        }
    };
    let (last, next) = if unreadable.cancel_requested {
        finish(job.clone(), Outcome::Cancelled, claimed_at, partial.result)
    } else {
        retry_or_fail(&job, claimed_at, unreadable.unreadable, partial.result)
    };
    let mut events = partial.unanswered;
    events.push(last);
    let close = Close::from(&next);
    let log = context
        .log
        .open(lease, unreadable.last_seq, job.attempt, lost)
        .await;
    if log.finish(events, next).await.is_ok() {
        context.meters.closed(&job, close);
    }
}

/// Returns the last entry of an attempt at a job that this release cannot read, and the resulting transition after
/// `earlier` such attempts. Another worker may claim the job, or the job fails with its result so far.
pub(super) fn retry_or_fail(
    job: &Job,
    now: DateTime<Utc>,
    earlier: i16,
    result: JobResult,
) -> (EventData, RunTransition) {
    if is_last(earlier) {
        let error = JobErrorCode::JobUnreadable.with(
            "no worker could read this job, which another release of Skillet wrote; update all workers to that release, \
             then retry the job",
        );
        let result = JobResult {
            error: Some(error),
            ..result
        };
        return finish(job.clone(), Outcome::Failed, now, result);
    }
    let run_at = now + pause(earlier);
    let cause = RetryCause::Unreadable;
    let event = EventData::JobRetrying(JobRetrying {
        cause,
        message: "the worker's release cannot read this job; another worker may".to_owned(),
        run_at,
    });
    (event, RunTransition::Requeue { cause, run_at })
}

fn tell_operator(job: &Job, error: &UnreadableRow) {
    let error = error as &dyn std::error::Error;
    tracing::warn!(job = %job.id, error, "another release wrote the job");
}

fn is_last(earlier: i16) -> bool {
    earlier + 1 >= MAX_UNREADABLE
}

/// Whether the error was caused by a row that another release wrote.
pub(super) fn is_unreadable(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<UnreadableRow>())
}

fn pause(earlier: i16) -> Duration {
    let doublings = earlier.clamp(0, 16);
    LONGEST_PAUSE.min(FIRST_PAUSE * (1 << doublings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_update_of_all_workers_has_more_than_an_hour() {
        let pauses: Vec<_> = (0..MAX_UNREADABLE - 1).map(pause).collect();
        assert_eq!(pauses[..3], [1, 2, 4].map(Duration::from_secs));
        let all: Duration = pauses.iter().sum();
        assert!((3600..7200).contains(&all.as_secs()), "{all:?}");
        assert_eq!(pause(i16::MAX), LONGEST_PAUSE);
    }
}
