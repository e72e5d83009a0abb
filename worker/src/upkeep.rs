//! What some worker does for all now and then: makes room for what comes, and forgets what nobody needs any more.
//!
//! Each piece is a small transaction, so whoever dies over it leaves it to the next. No step depends on another: one that
//! fails is tried again in the next round, and the others are done.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{StreamExt, TryStreamExt, stream};
use shared::asset::AssetStore;
use shared::db::chore::Chore;
use shared::db::{self, Pool};
use shared::id::{AssetId, ConversationId, JobId};
use shared::retention::Retention;
use uuid::Uuid;

use crate::worker_context::WorkerContext;

/// How often a worker looks whether one of the chores is due.
const LOOK_INTERVAL: Duration = Duration::from_secs(60);
/// How often each is done, by whichever worker.
const CHORES: [(Chore, TimeDelta); 3] = [
    (Chore::Upkeep, TimeDelta::minutes(5)),
    (Chore::Retention, TimeDelta::hours(1)),
    (Chore::Blobs, TimeDelta::minutes(5)),
];
/// Rows that are removed in one transaction.
const ROWS_AT_ONCE: i64 = 500;
/// Bytes that are removed at once, each with a connection.
const BLOBS_AT_ONCE: usize = 2;
/// An upload that is older than this was broken off, and bytes without a row were left by someone who died.
const UPLOAD_PATIENCE: TimeDelta = TimeDelta::days(1);

/// How long things are kept.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// Jobs that have ended, with all that is theirs.
    pub jobs: Retention,
    /// Uploads that no job begins with.
    pub uploads: Retention,
}

/// Does the chores that are due until it is dropped.
pub(crate) async fn run(context: Arc<WorkerContext>, keep: Keep) {
    loop {
        for (chore, pause) in CHORES {
            if let Err(error) = step(&context.pool, &context.assets, keep, chore, pause).await {
                let error = format!("{error:#}");
                tracing::warn!(?chore, error, "cannot do a chore");
            }
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

async fn step(
    pool: &Pool,
    assets: &AssetStore,
    keep: Keep,
    chore: Chore,
    pause: TimeDelta,
) -> anyhow::Result<()> {
    let Some(round) = db::chore::begin(pool, chore, pause).await? else {
        return Ok(());
    };
    match chore {
        Chore::Upkeep => tidy(pool, assets).await,
        Chore::Retention => forget(pool, assets, keep).await?,
        Chore::Blobs => sweep(pool, assets, round.to_le_bytes()[0]).await?,
    }
    Ok(())
}

/// Does one step; the log has its error.
async fn attempt<E: Into<anyhow::Error>>(
    step: &'static str,
    work: impl Future<Output = Result<(), E>>,
) {
    if let Err(error) = work.await {
        let error = format!("{:#}", error.into());
        tracing::warn!(step, error, "a step of maintenance failed");
    }
}

/// Makes room for the coming weeks, and clears away what the last minutes have left.
async fn tidy(pool: &Pool, assets: &AssetStore) {
    attempt("event_weeks", db::event_week::ensure_coming(pool)).await;
    attempt("lanes", reopen_lanes(pool)).await;
    attempt("conversations", admit_stalled(pool)).await;
    attempt("idempotency_keys", delete_old_keys(pool)).await;
    attempt("workers", db::worker::delete_stopped(pool)).await;
    attempt("unseen_assets", delete_unseen(pool, assets)).await;
    // Left by who died, or met a job, when it was about to remove them.
    attempt("skills", db::skill::release(pool, assets, None)).await;
    attempt("uploads", assets.sweep_uploads(UPLOAD_PATIENCE)).await;
    attempt("workspaces", clear_workspaces(pool, assets)).await;
}

/// A worker of an earlier release makes jobs ready without a word.
async fn reopen_lanes(pool: &Pool) -> db::Result<()> {
    let reopened = db::lane::reopen(pool).await?;
    if reopened > 0 {
        tracing::warn!(
            lanes = reopened,
            "opened lanes that were closed although they had jobs"
        );
    }
    Ok(())
}

/// Those that nobody looked at in the first minute.
async fn admit_stalled(pool: &Pool) -> db::Result<()> {
    while db::run::admit_stalled(pool, None).await? > 0 {
        db::run::notify_work(pool).await?;
    }
    Ok(())
}

async fn delete_old_keys(pool: &Pool) -> db::Result<()> {
    while db::idempotency::delete_old(pool, ROWS_AT_ONCE).await? >= ROWS_AT_ONCE as u64 {}
    Ok(())
}

async fn delete_unseen(pool: &Pool, assets: &AssetStore) -> anyhow::Result<()> {
    loop {
        let blobs = db::asset::delete_unseen(pool, ROWS_AT_ONCE).await?;
        let is_last = blobs.len() < ROWS_AT_ONCE as usize;
        release(pool, assets, blobs).await?;
        if is_last {
            return Ok(());
        }
    }
}

/// A worker that died right after a job's end left the job's workspace saved, and a conversation that goes on has no need
/// of the one before the last.
async fn clear_workspaces(pool: &Pool, assets: &AssetStore) -> anyhow::Result<()> {
    let saved = assets.list_scratch().await?;
    let needed = db::job::list_with_workspace(pool, &saved).await?;
    for job in saved.iter().filter(|job| !needed.contains(job)) {
        assets.scratch(*job).clear().await?;
    }
    Ok(())
}

/// Removes what has been kept for long enough.
async fn forget(pool: &Pool, assets: &AssetStore, keep: Keep) -> db::Result<()> {
    let now = db::now(pool).await?;
    if let Some(cutoff) = keep.jobs.cutoff(now) {
        attempt("jobs", forget_jobs(pool, assets, cutoff)).await;
        attempt("logs", forget_logs(pool, cutoff)).await;
        attempt("empty_conversations", forget_conversations(pool, cutoff)).await;
        attempt("revoked_keys", db::key::delete_revoked(pool, cutoff)).await;
    }
    if let Some(cutoff) = keep.uploads.cutoff(now) {
        attempt("unused_uploads", forget_uploads(pool, assets, cutoff)).await;
    }
    Ok(())
}

async fn forget_uploads(
    pool: &Pool,
    assets: &AssetStore,
    cutoff: DateTime<Utc>,
) -> anyhow::Result<()> {
    let inputs = db::job::list_old_inputs(pool, cutoff).await?;
    loop {
        let blobs = db::asset::delete_unused(pool, cutoff, &inputs, ROWS_AT_ONCE).await?;
        let is_last = blobs.len() < ROWS_AT_ONCE as usize;
        release(pool, assets, blobs).await?;
        if is_last {
            return Ok(());
        }
    }
}

async fn forget_jobs(
    pool: &Pool,
    assets: &AssetStore,
    cutoff: DateTime<Utc>,
) -> anyhow::Result<()> {
    let inputs: Vec<AssetId> = db::job::list_old_inputs(pool, cutoff).await?;
    let (mut last, mut count) = (Some(JobId(Uuid::nil())), 0);
    while let Some(after) = last {
        let mut transaction = pool.begin().await?;
        let mut old =
            db::job::lock_old(&mut transaction, cutoff, &inputs, after, ROWS_AT_ONCE).await?;
        last = old.last().copied();
        let taken = db::job::list_taken_again(&mut transaction, cutoff, &old).await?;
        old.retain(|job| !taken.contains(job));
        let blobs = db::job::delete(&mut transaction, &old).await?;
        db::event_week::forget(&mut transaction, &old).await?;
        transaction.commit().await?;
        release(pool, assets, blobs).await?;
        count += old.len();
    }
    if count > 0 {
        tracing::info!(jobs = count, "forgot jobs that ended long ago");
    }
    Ok(())
}

/// Drops the weeks of which no job is left, and removes logs from the others that had their time.
async fn forget_logs(pool: &Pool, cutoff: DateTime<Utc>) -> anyhow::Result<()> {
    for week in db::event_week::list_past(pool, cutoff).await? {
        if db::event_week::drop(pool, &week).await? {
            tracing::info!(?week, "forgot the logs of a week");
        }
    }
    while db::event_week::delete_forgotten(pool, cutoff, ROWS_AT_ONCE).await? >= ROWS_AT_ONCE as u64
    {
    }
    Ok(())
}

async fn forget_conversations(pool: &Pool, cutoff: DateTime<Utc>) -> db::Result<()> {
    let mut last = Some(ConversationId(Uuid::nil()));
    while let Some(after) = last {
        let mut transaction = pool.begin().await?;
        last =
            db::conversation::delete_empty(&mut transaction, cutoff, after, ROWS_AT_ONCE).await?;
        transaction.commit().await?;
    }
    Ok(())
}

/// Removes bytes that someone stored who died before the database heard of them, and those whose rows are gone.
async fn sweep(pool: &Pool, assets: &AssetStore, first: u8) -> anyhow::Result<()> {
    assets
        .sweep_unfinished_blobs(first, UPLOAD_PATIENCE)
        .await?;
    let stored = assets.list_blobs(first, UPLOAD_PATIENCE).await?;
    for hashes in stored.chunks(ROWS_AT_ONCE as usize) {
        let unknown = db::asset::list_unknown(pool, hashes).await?;
        release(pool, assets, unknown).await?;
    }
    Ok(())
}

async fn release(pool: &Pool, assets: &AssetStore, blobs: Vec<String>) -> anyhow::Result<()> {
    let released = stream::iter(blobs)
        .map(|sha256| async move { db::asset::release_blob(pool, assets, &sha256).await })
        .buffer_unordered(BLOBS_AT_ONCE);
    Ok(released.try_collect().await?)
}
