//! What some worker has to do for all: any may, none must, and two at once do no harm.

use std::time::Duration;

use chrono::TimeDelta;
use sqlx::PgPool;

use shared::approval::{Answer, Approval, ApprovalStatus};
use shared::asset::AssetStore;
use shared::db;
use shared::db::log::{Append, Next};
use shared::db::run::LockedRun;
use shared::event::{EventData, JobRetrying, RetryCause};
use shared::id::{JobId, WorkerId};
use shared::job::{Job, JobErrorCode, JobResult, Outcome, Progress};

/// Orphans taken on in one transaction.
const ORPHANS_AT_ONCE: i64 = 100;
/// Approvals that are ended at once for being late; the next round has the others.
const EXPIRED_AT_ONCE: i64 = 100;
/// Jobs that are ended at once after a cancellation that nobody heard.
const MISSED_AT_ONCE: i64 = 100;
/// Workers that may die with a job before the job is held to be the cause.
const MAX_CRASHES: i16 = 3;

/// An upload that is older than this was broken off.
const UPLOAD_PATIENCE: TimeDelta = TimeDelta::days(1);

/// Makes jobs ready that are due, next in their conversation or have waited long enough, and hands jobs to others whose worker fell silent, or says itself that it
/// `lost` them. Returns whether there is something to claim now.
pub(crate) async fn frequent(
    pool: &PgPool,
    worker: WorkerId,
    lost: &[JobId],
    silence: Duration,
) -> sqlx::Result<bool> {
    let promoted = db::claim::promote(pool).await?
        + db::run::admit_blocked(pool, None).await?
        + expire_approvals(pool).await?;
    cancel_missed(pool).await?;
    db::worker::stop_silent(pool, silence).await?;
    let mut taken_over = 0;
    loop {
        let count = take_over_orphans(pool, worker, lost).await?;
        taken_over += count;
        if count < ORPHANS_AT_ONCE as usize {
            break;
        }
    }
    // With the leases of the dead.
    db::budget::settle_abandoned(pool).await?;
    Ok(promoted > 0 || taken_over > 0)
}

/// Makes room for the coming weeks, and forgets what nobody needs.
pub(crate) async fn rare(pool: &PgPool, assets: &AssetStore) -> anyhow::Result<()> {
    db::event::ensure_partitions(pool).await?;
    // A worker of an earlier release makes jobs ready without a word.
    let reopened = db::lane::reopen(pool).await?;
    if reopened > 0 {
        tracing::warn!(
            lanes = reopened,
            "opened lanes that were closed although they had jobs"
        );
    }
    db::idempotency::delete_old(pool).await?;
    db::worker::delete_stopped(pool).await?;
    for sha256 in db::asset::delete_unseen(pool).await? {
        db::asset::release_blob(pool, assets, &sha256).await?;
    }
    // Left by who died, or met a job, when it was about to remove them.
    db::skill::release(pool, assets, None).await?;
    assets.sweep_incoming(UPLOAD_PATIENCE).await?;
    // A worker that died right after a job's end left the job's workspace saved, and a conversation that
    // goes on has no need of the one before the last.
    let saved = assets.list_scratch().await?;
    let needed = db::job::list_with_workspace(pool, &saved).await?;
    for job in saved.iter().filter(|job| !needed.contains(job)) {
        assets.scratch(*job).clear().await?;
    }
    Ok(())
}

/// Denies calls for which nobody came in time. Returns how many jobs go on with that.
async fn expire_approvals(pool: &PgPool) -> sqlx::Result<u64> {
    let mut resumed = 0;
    for (tenant, job) in db::approval::list_expired(pool, EXPIRED_AT_ONCE).await? {
        let mut transaction = pool.begin().await?;
        let Some(run) = db::run::lock(&mut transaction, tenant, job).await? else {
            continue;
        };
        let pending = db::approval::list_pending(&mut transaction, &run).await?;
        let is_late = |approval: &Approval| {
            (approval.expires_at <= run.now).then(|| Answer::unasked(ApprovalStatus::Expired))
        };
        let goes_on = db::approval::answer(&mut transaction, &run, &pending, is_late).await?;
        transaction.commit().await?;
        resumed += u64::from(goes_on);
    }
    Ok(resumed)
}

/// Ends jobs that were cancelled in the very moment in which they began to wait.
async fn cancel_missed(pool: &PgPool) -> sqlx::Result<()> {
    for (tenant, job) in db::cancel::list_missed(pool, MISSED_AT_ONCE).await? {
        let mut transaction = pool.begin().await?;
        if let Some(run) = db::run::lock(&mut transaction, tenant, job).await?
            && !run.is_running
        {
            db::cancel::cancel(&mut transaction, &run).await?;
            transaction.commit().await?;
        }
    }
    Ok(())
}

async fn take_over_orphans(pool: &PgPool, worker: WorkerId, lost: &[JobId]) -> sqlx::Result<usize> {
    let mut transaction = pool.begin().await?;
    let orphans = db::run::lock_orphans(&mut transaction, worker, lost, ORPHANS_AT_ONCE).await?;
    if orphans.is_empty() {
        return Ok(0);
    }
    let mut batch = Vec::with_capacity(orphans.len());
    for orphan in &orphans {
        let Some(job) = db::job::get(&mut *transaction, orphan.tenant, orphan.lease.job).await?
        else {
            continue;
        };
        let progress = db::event::get_progress(&mut transaction, job.id).await?;
        let unanswered = db::event::list_unanswered(&mut transaction, job.id).await?;
        batch.push(take_over(orphan, job, progress, unanswered));
    }
    db::log::append(&mut *transaction, &batch).await?;
    transaction.commit().await?;
    tracing::warn!(jobs = orphans.len(), "took over jobs whose worker is gone");
    Ok(orphans.len())
}

/// The next entries of an orphan: it ends, and with it its `unanswered` calls, or another worker may begin.
fn take_over(
    orphan: &LockedRun,
    job: Job,
    progress: Progress,
    unanswered: Vec<EventData>,
) -> Append {
    let (event, next) = if orphan.cancel_requested {
        db::log::finish(job, Outcome::Cancelled, orphan.now, progress.into_result())
    } else if orphan.crashes + 1 >= MAX_CRASHES {
        let error = JobErrorCode::WorkerLost.with(format!(
            "{MAX_CRASHES} workers were lost while they ran this job"
        ));
        let result = JobResult {
            error: Some(error),
            ..progress.into_result()
        };
        db::log::finish(job, Outcome::Failed, orphan.now, result)
    } else {
        let pause = TimeDelta::seconds(orphan.crashes.into());
        let run_at = orphan.now + pause;
        let message = "the worker fell silent; another takes over".to_owned();
        let event = EventData::JobRetrying(JobRetrying {
            cause: RetryCause::Crash,
            message,
            run_at,
        });
        (
            event,
            Next::Requeue {
                cause: RetryCause::Crash,
                run_at,
            },
        )
    };
    let mut events = match next {
        Next::Finish { .. } => unanswered,
        _ => Vec::new(),
    };
    events.push(event);
    Append {
        lease: orphan.lease,
        base: orphan.last_seq,
        events,
        next,
    }
}
