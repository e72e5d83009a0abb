//! What some worker does for all now and then: makes room for what comes, and forgets what nobody needs any more.
//!
//! Each piece is a small transaction, so whoever dies over it leaves it to the next.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use futures_util::{StreamExt, TryStreamExt, stream};
use shared::asset::AssetStore;
use shared::db;
use shared::db::chore::Chore;
use shared::id::{AssetId, ConversationId, JobId};
use shared::retention::Retention;
use sqlx::PgPool;
use uuid::Uuid;

use crate::shop::Shop;

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
pub(crate) async fn run(shop: Arc<Shop>, keep: Keep) {
    loop {
        for (chore, pause) in CHORES {
            if let Err(error) = step(&shop.pool, &shop.assets, keep, chore, pause).await {
                let error = format!("{error:#}");
                tracing::warn!(?chore, error, "cannot do a chore");
            }
        }
        tokio::time::sleep(LOOK_INTERVAL).await;
    }
}

async fn step(
    pool: &PgPool,
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
        Chore::Retention => forget(pool, assets, keep).await,
        Chore::Blobs => sweep(pool, assets, round.to_le_bytes()[0]).await,
    }
}

/// Makes room for the coming weeks, and clears away what the last minutes have left.
async fn tidy(pool: &PgPool, assets: &AssetStore) -> anyhow::Result<()> {
    db::event::ensure_partitions(pool).await?;
    // A worker of an earlier release makes jobs ready without a word.
    let reopened = db::lane::reopen(pool).await?;
    if reopened > 0 {
        tracing::warn!(
            lanes = reopened,
            "opened lanes that were closed although they had jobs"
        );
    }
    while db::idempotency::delete_old(pool, ROWS_AT_ONCE).await? >= ROWS_AT_ONCE as u64 {}
    db::worker::delete_stopped(pool).await?;
    loop {
        let blobs = db::asset::delete_unseen(pool, ROWS_AT_ONCE).await?;
        let is_last = blobs.len() < ROWS_AT_ONCE as usize;
        release(pool, assets, blobs).await?;
        if is_last {
            break;
        }
    }
    // Left by who died, or met a job, when it was about to remove them.
    db::skill::release(pool, assets, None).await?;
    assets.sweep_uploads(UPLOAD_PATIENCE).await?;
    // A worker that died right after a job's end left the job's workspace saved, and a conversation that
    // goes on has no need of the one before the last.
    let saved = assets.list_scratch().await?;
    let needed = db::job::list_with_workspace(pool, &saved).await?;
    for job in saved.iter().filter(|job| !needed.contains(job)) {
        assets.scratch(*job).clear().await?;
    }
    Ok(())
}

/// Removes what has been kept for long enough.
async fn forget(pool: &PgPool, assets: &AssetStore, keep: Keep) -> anyhow::Result<()> {
    let now = db::now(pool).await?;
    if let Some(cutoff) = keep.jobs.cutoff(now) {
        forget_jobs(pool, assets, cutoff).await?;
        forget_logs(pool, cutoff).await?;
        forget_conversations(pool, cutoff).await?;
        db::key::delete_revoked(pool, cutoff).await?;
    }
    if let Some(cutoff) = keep.uploads.cutoff(now) {
        let inputs = db::job::list_old_inputs(pool, cutoff).await?;
        loop {
            let blobs = db::asset::delete_unused(pool, cutoff, &inputs, ROWS_AT_ONCE).await?;
            let is_last = blobs.len() < ROWS_AT_ONCE as usize;
            release(pool, assets, blobs).await?;
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

async fn forget_jobs(
    pool: &PgPool,
    assets: &AssetStore,
    cutoff: DateTime<Utc>,
) -> anyhow::Result<()> {
    let inputs: Vec<AssetId> = db::job::list_old_inputs(pool, cutoff).await?;
    let (mut last, mut count) = (Some(JobId(Uuid::nil())), 0);
    while let Some(after) = last {
        let mut transaction = pool.begin().await?;
        let old = db::job::lock_old(&mut transaction, cutoff, &inputs, after, ROWS_AT_ONCE).await?;
        let blobs = db::job::delete(&mut transaction, &old).await?;
        db::event_week::forget(&mut transaction, &old).await?;
        transaction.commit().await?;
        release(pool, assets, blobs).await?;
        count += old.len();
        last = old.last().copied();
    }
    if count > 0 {
        tracing::info!(jobs = count, "forgot jobs that ended long ago");
    }
    Ok(())
}

/// Drops the weeks of which no job is left, and removes logs from the others that had their time.
async fn forget_logs(pool: &PgPool, cutoff: DateTime<Utc>) -> anyhow::Result<()> {
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

async fn forget_conversations(pool: &PgPool, cutoff: DateTime<Utc>) -> sqlx::Result<()> {
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
async fn sweep(pool: &PgPool, assets: &AssetStore, first: u8) -> anyhow::Result<()> {
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

async fn release(pool: &PgPool, assets: &AssetStore, blobs: Vec<String>) -> anyhow::Result<()> {
    let released = stream::iter(blobs)
        .map(|sha256| async move { db::asset::release_blob(pool, assets, &sha256).await })
        .buffer_unordered(BLOBS_AT_ONCE);
    Ok(released.try_collect().await?)
}
