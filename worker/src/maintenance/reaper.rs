//! The reaper, which every worker runs each second: due jobs, expired approvals, missed cancellations, orphaned jobs.

use std::time::Duration;

use chrono::TimeDelta;

use shared::db;
use shared::db::log::{Append, Lease, RunTransition};
use shared::db::run::LockedRun;
use shared::event::{EventData, JobRetrying, RetryCause};
use shared::id::{JobId, TenantId, WorkerId};
use shared::job::{JobError, JobErrorCode, JobResult, Outcome};

use super::approval_expiry;
use super::skip::skip;
use crate::telemetry::Close;
use crate::worker_context::WorkerContext;

/// The maximum number of orphans that are taken over in one transaction.
const ORPHANS_AT_ONCE: i64 = 100;
/// The maximum number of jobs that are ended in one round after a missed cancellation.
const MISSED_AT_ONCE: i64 = 100;
/// The time for which a job that joined a conversation is checked every second. After that, cleanup checks it.
const RECENT_JOIN_TIME: Duration = Duration::from_secs(60);
/// The number of workers that may die with a job before the job counts as the cause.
const MAX_CRASHES: i16 = 3;

/// Makes jobs ready that are due or next in their conversation, and expires approvals. Takes over jobs whose worker
/// fell silent, or reports in `lost` that it lost them. Returns whether there is a job to claim now.
pub(crate) async fn run(
    context: &WorkerContext,
    worker: WorkerId,
    lost: &[Lease],
) -> db::Result<bool> {
    let pool = &context.pool;
    let promoted = db::claim::promote(pool).await?
        + db::conversation::admit_stalled(pool, Some(RECENT_JOIN_TIME)).await?
        + approval_expiry::run(pool).await?;
    cancel_missed(context).await?;
    db::worker::stop_silent(pool, context.silence).await?;
    let mut taken_over = 0;
    loop {
        let count = take_over_orphans(context, worker, lost).await?;
        taken_over += count;
        if count < ORPHANS_AT_ONCE as usize {
            break;
        }
    }
    // Together with the leases of dead workers, their reservations end.
    db::budget::settle_abandoned(pool).await?;
    Ok(promoted > 0 || taken_over > 0)
}

/// Ends jobs that were cancelled while their worker handed them back.
async fn cancel_missed(context: &WorkerContext) -> db::Result<()> {
    for (tenant, job) in db::cancel::list_missed(&context.pool, MISSED_AT_ONCE).await? {
        if let Err(error) = cancel_missed_job(context, tenant, job).await {
            skip(job, error)?;
        }
    }
    Ok(())
}

async fn cancel_missed_job(
    context: &WorkerContext,
    tenant: TenantId,
    job: JobId,
) -> db::Result<()> {
    let mut transaction = context.pool.begin().await?;
    if let Some(run) = db::run::lock(&mut transaction, tenant, job).await?
        && !run.is_running
    {
        let job = db::cancel::cancel(&mut transaction, &run).await?;
        transaction.commit().await?;
        let (outcome, at) = (Outcome::Cancelled, run.now);
        context.meters.closed(&job, Close::Ended { outcome, at });
    }
    Ok(())
}

async fn take_over_orphans(
    context: &WorkerContext,
    worker: WorkerId,
    lost: &[Lease],
) -> db::Result<usize> {
    let mut transaction = context.pool.begin().await?;
    let orphans = db::run::lock_orphans(&mut transaction, worker, lost, ORPHANS_AT_ONCE).await?;
    if orphans.is_empty() {
        return Ok(0);
    }
    let mut batch = Vec::with_capacity(orphans.len());
    let mut closed = Vec::with_capacity(orphans.len());
    for orphan in &orphans {
        let Some(job) = db::job::get(&mut *transaction, orphan.tenant, orphan.lease.job).await?
        else {
            continue;
        };
        let append = match ending(orphan) {
            Some((outcome, error)) => {
                let progress = db::event::get_progress(&mut transaction, job.id).await?;
                let unanswered = db::event::list_unanswered(&mut transaction, job.id).await?;
                let result = JobResult {
                    error,
                    ..progress.into_result()
                };
                let finish = db::log::finish(job.clone(), outcome, orphan.now, result);
                append(orphan, unanswered, finish)
            }
            None => append(orphan, Vec::new(), retry(orphan)),
        };
        closed.push((job, Close::from(&append.next)));
        batch.push(append);
    }
    db::log::append_and_notify(&mut transaction, &batch).await?;
    transaction.commit().await?;
    for (job, close) in closed {
        context.meters.closed(&job, close);
    }
    tracing::warn!(jobs = orphans.len(), "took over jobs of lost workers");
    Ok(orphans.len())
}

/// Returns the outcome and the error of an orphaned job that ends, or `None` if another worker takes it.
fn ending(orphan: &LockedRun) -> Option<(Outcome, Option<JobError>)> {
    if orphan.cancel_requested {
        return Some((Outcome::Cancelled, None));
    }
    (orphan.crashes + 1 >= MAX_CRASHES).then(|| {
        let error = JobErrorCode::WorkerLost.with(format!(
            "{MAX_CRASHES} workers were lost while they ran this job"
        ));
        (Outcome::Failed, Some(error))
    })
}

/// Returns the event and the transition for another attempt at an orphaned job, after a pause of one
/// second per earlier crash.
fn retry(orphan: &LockedRun) -> (EventData, RunTransition) {
    let cause = RetryCause::Crash;
    let run_at = orphan.now + TimeDelta::seconds(orphan.crashes.into());
    let event = EventData::JobRetrying(JobRetrying {
        cause,
        message: "the worker stopped responding; another worker takes over".to_owned(),
        run_at,
    });
    (event, RunTransition::Requeue { cause, run_at })
}

/// Returns the last entries of an orphan's lease.
fn append(
    orphan: &LockedRun,
    mut events: Vec<EventData>,
    (last, next): (EventData, RunTransition),
) -> Append {
    events.push(last);
    Append {
        lease: orphan.lease,
        base: orphan.last_seq,
        events,
        next,
    }
}
