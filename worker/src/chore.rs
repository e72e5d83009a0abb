//! What some worker has to do for all: any may, none must, and two at once do no harm.

use chrono::TimeDelta;
use sqlx::PgPool;

use shared::asset::AssetStore;
use shared::db;
use shared::db::log::{Append, Next};
use shared::db::run::LockedRun;
use shared::event::{EventData, JobRetrying, RetryCause};
use shared::id::{JobId, WorkerId};
use shared::job::{Job, JobErrorCode, JobResult, Outcome};

/// Orphans taken on in one transaction.
const ORPHANS_AT_ONCE: i64 = 100;
/// Workers that may die with a job before the job is held to be the cause.
const MAX_CRASHES: i16 = 3;

/// An upload that is older than this was broken off.
const UPLOAD_PATIENCE: TimeDelta = TimeDelta::days(1);

/// Makes jobs ready that are due or next in their conversation, and hands jobs to others whose worker fell silent, or says itself that it
/// `lost` them. Returns whether there is something to claim now.
pub(crate) async fn frequent(
    pool: &PgPool,
    worker: WorkerId,
    lost: &[JobId],
) -> sqlx::Result<bool> {
    let promoted = db::claim::promote(pool).await? + db::run::admit_blocked(pool, None).await?;
    db::worker::stop_silent(pool).await?;
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
    db::idempotency::delete_old(pool).await?;
    db::worker::delete_stopped(pool).await?;
    for sha256 in db::asset::delete_unseen(pool).await? {
        db::asset::release_blob(pool, assets, &sha256).await?;
    }
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
        batch.push(take_over(orphan, job));
    }
    db::log::append(&mut *transaction, &batch).await?;
    transaction.commit().await?;
    tracing::warn!(jobs = orphans.len(), "took over jobs whose worker is gone");
    Ok(orphans.len())
}

fn take_over(orphan: &LockedRun, job: Job) -> Append {
    let (event, next) = if orphan.cancel_requested {
        db::log::finish(job, Outcome::Cancelled, orphan.now, JobResult::default())
    } else if orphan.crashes + 1 >= MAX_CRASHES {
        let error = JobErrorCode::WorkerLost.with(format!(
            "{MAX_CRASHES} workers were lost while they ran this job"
        ));
        let result = JobResult {
            error: Some(error),
            ..JobResult::default()
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
    Append {
        lease: orphan.lease,
        base: orphan.last_seq,
        events: vec![event],
        next,
    }
}
