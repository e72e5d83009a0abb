//! One attempt at a job: from the claim to the last entry that its lease may write.

mod backoff;
mod clock;
mod decide;
mod execution;
mod files;
mod outcome;
mod partial_result;
mod prepare;
mod signals;
mod tools;
mod unreadable;
mod write;

use std::sync::Arc;

use shared::db::claim::Claimed;
use shared::event::{EventData, JobStarted};
use shared::id::WorkerId;
use shared::skill::Skill;
use shared::telemetry::trace::Span;

use crate::job_profile::JobProfile;
use crate::log::JobLog;
use crate::skill;
use crate::telemetry;
use crate::worker_context::WorkerContext;
use clock::AttemptClock;
use decide::AttemptState;
use execution::{Execution, LoopState};
use outcome::AttemptOutcome;
use partial_result::PartialResult;
pub(crate) use signals::AttemptSignals;
pub(crate) use unreadable::hand_back;
use write::write_outcome;

/// Runs an attempt to its end.
pub(crate) async fn run(
    context: Arc<WorkerContext>,
    worker: WorkerId,
    claimed: Claimed,
    signals: AttemptSignals,
) {
    let span = telemetry::of_attempt(&claimed);
    span.around(run_within(&span, &context, worker, claimed, signals))
        .await;
}

async fn run_within(
    span: &Span,
    context: &WorkerContext,
    worker: WorkerId,
    mut claimed: Claimed,
    signals: AttemptSignals,
) {
    let clock = AttemptClock::start(claimed.claimed_at);
    let lost = signals.lost.clone();
    let (lease, last_seq, attempt) = (claimed.lease, claimed.last_seq, claimed.job.attempt);
    let log = context.log.open(lease, last_seq, attempt, lost).await;
    let skill = skill::load(context, &claimed.job).await;
    if let Ok(Some(skill)) = &skill {
        // The job reports the version that runs.
        claimed.job.skill_digest = Some(skill.digest.clone());
    }
    let started = JobStarted {
        attempt: claimed.job.attempt,
        worker,
        skill_digest: claimed.job.skill_digest.clone(),
        isolation: Some(context.sandbox.isolation()),
    };
    log.append(EventData::JobStarted(started)).await;
    let (outcome, state) = match profile(&claimed, skill) {
        Ok(profile) => {
            let execution = Execution {
                context,
                claimed: &claimed,
                profile: &profile,
                log: &log,
                signals: &signals,
                span,
            };
            let (outcome, state) = execution.run(&clock).await;
            if let Some(state) = &state {
                claimed.job.model = state.model.clone();
            }
            (outcome, state)
        }
        Err(error) => (AttemptOutcome::Internal(error), None),
    };
    Box::pin(conclude(
        context, span, log, &claimed, &clock, state, outcome,
    ))
    .await;
}

fn profile(
    claimed: &Claimed,
    skill: anyhow::Result<Option<Arc<Skill>>>,
) -> anyhow::Result<JobProfile> {
    let profile = JobProfile::of(claimed, skill?.as_ref());
    profile.ok_or_else(|| anyhow::anyhow!("the claimed job has neither a skill nor an agent"))
}

/// Writes the last log entries, and deletes the saved workspace of a finished job.
async fn conclude(
    context: &WorkerContext,
    span: &Span,
    log: JobLog,
    claimed: &Claimed,
    clock: &AttemptClock,
    state: Option<LoopState>,
    outcome: AttemptOutcome,
) {
    let declares_outputs = state.as_ref().is_some_and(|it| it.declares_outputs);
    let (transcript, snapshots) = state.map(|it| (it.transcript, it.snapshots)).unzip();
    let read = || PartialResult::read(&context.pool, &claimed.job);
    let (partial, outcome) = PartialResult::for_outcome(outcome, transcript, read).await;
    let state = AttemptState::new(claimed, clock.now(), declares_outputs);
    let is_over = write_outcome(&context.meters, span, log, &state, partial, outcome).await;
    // The snapshot of a lost attempt belongs to the next attempt, and that of a conversation's job to the next job.
    if is_over
        && claimed.position.is_none()
        && let Some(snapshots) = snapshots
        && let Err(error) = snapshots.clear().await
    {
        let error = format!("{error:#}");
        tracing::warn!(job = %claimed.job.id, error, "could not delete a saved workspace");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the size of a future that has not started. A future never changes its size.
    fn size_of_future<A, B, C, D, F>(_: impl FnOnce(A, B, C, D) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn an_attempt_has_no_room_for_what_it_does_only_once() {
        let size = size_of_future(run);
        assert!(size < 12 * 1024, "{size} bytes");
    }
}
