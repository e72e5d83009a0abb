//! Retention: the deletion of expired jobs, logs, live output, conversations, keys and uploads.

use chrono::{DateTime, Utc};
use shared::asset::AssetStore;
use shared::db::{self, Pool};
use shared::id::{AssetId, ConversationId, JobId};
use shared::retention::Retention;
use uuid::Uuid;

use super::step::{ROWS_AT_ONCE, release, run_step};

/// The retention of jobs, live output and uploads.
#[derive(Clone, Copy, Debug)]
pub struct Keep {
    /// The retention of ended jobs, with their logs and files.
    pub jobs: Retention,
    /// The minimum retention of live output of jobs.
    pub deltas: Retention,
    /// The retention of uploads that no job uses as an input.
    pub uploads: Retention,
}

/// Deletes expired jobs, logs, live output, conversations, keys and uploads.
pub(super) async fn run(pool: &Pool, assets: &AssetStore, keep: Keep) -> db::Result<()> {
    let now = db::now(pool).await?;
    if let Some(cutoff) = keep.jobs.cutoff(now) {
        run_step("jobs", delete_jobs(pool, assets, cutoff)).await;
        run_step("feed", db::feed::advance_floor(pool, cutoff)).await;
        run_step("logs", delete_logs(pool, cutoff)).await;
        run_step("schedule_runs", delete_schedule_runs(pool, cutoff)).await;
        run_step("empty_conversations", delete_conversations(pool, cutoff)).await;
        run_step("revoked_keys", db::key::delete_revoked(pool, cutoff)).await;
    }
    if let Some(cutoff) = keep.deltas.cutoff(now) {
        run_step("deltas", trim_deltas(pool, cutoff)).await;
    }
    if let Some(cutoff) = keep.uploads.cutoff(now) {
        run_step("unused_uploads", delete_uploads(pool, assets, cutoff)).await;
    }
    Ok(())
}

async fn trim_deltas(pool: &Pool, cutoff: DateTime<Utc>) -> db::Result<()> {
    let days = db::delta_day::trim(pool, cutoff).await?;
    if days > 0 {
        tracing::info!(days, "trimmed live output");
    }
    while db::delta_day::delete_stray(pool, cutoff, ROWS_AT_ONCE).await? >= ROWS_AT_ONCE as u64 {}
    Ok(())
}

async fn delete_uploads(
    pool: &Pool,
    assets: &AssetStore,
    cutoff: DateTime<Utc>,
) -> anyhow::Result<()> {
    let inputs = list_inputs(pool, cutoff).await?;
    loop {
        let blobs = db::asset::delete_unused(pool, cutoff, &inputs, ROWS_AT_ONCE).await?;
        let is_last = blobs.len() < ROWS_AT_ONCE as usize;
        release(pool, assets, blobs).await?;
        if is_last {
            return Ok(());
        }
    }
}

/// Returns the input files of unfinished jobs and of schedules.
async fn list_inputs(pool: &Pool, cutoff: DateTime<Utc>) -> db::Result<Vec<AssetId>> {
    let mut inputs = db::job::list_old_inputs(pool, cutoff).await?;
    inputs.extend(db::schedule::list_inputs(pool).await?);
    Ok(inputs)
}

async fn delete_schedule_runs(pool: &Pool, cutoff: DateTime<Utc>) -> db::Result<()> {
    while db::schedule_run::delete_old(pool, cutoff, ROWS_AT_ONCE).await? >= ROWS_AT_ONCE as u64 {}
    Ok(())
}

async fn delete_jobs(
    pool: &Pool,
    assets: &AssetStore,
    cutoff: DateTime<Utc>,
) -> anyhow::Result<()> {
    let inputs = list_inputs(pool, cutoff).await?;
    let (mut last, mut count) = (Some(JobId(Uuid::nil())), 0);
    while let Some(after) = last {
        let mut transaction = pool.begin().await?;
        let mut old =
            db::job::lock_old(&mut transaction, cutoff, &inputs, after, ROWS_AT_ONCE).await?;
        last = old.last().copied();
        let taken = db::job::list_used_since(&mut transaction, cutoff, &old).await?;
        old.retain(|job| !taken.contains(job));
        let blobs = db::job::delete(&mut transaction, &old).await?;
        db::event_week::forget(&mut transaction, &old).await?;
        transaction.commit().await?;
        release(pool, assets, blobs).await?;
        count += old.len();
    }
    if count > 0 {
        tracing::info!(jobs = count, "deleted jobs that ended long ago");
    }
    Ok(())
}

/// Drops the weeks without a job, and deletes expired logs from the others.
async fn delete_logs(pool: &Pool, cutoff: DateTime<Utc>) -> anyhow::Result<()> {
    for week in db::event_week::list_past(pool, cutoff).await? {
        if db::event_week::drop(pool, &week).await? {
            tracing::info!(?week, "deleted a week of logs or of the feed");
        }
    }
    while db::event_week::delete_forgotten(pool, cutoff, ROWS_AT_ONCE).await? >= ROWS_AT_ONCE as u64
    {
    }
    Ok(())
}

async fn delete_conversations(pool: &Pool, cutoff: DateTime<Utc>) -> db::Result<()> {
    let mut last = Some(ConversationId(Uuid::nil()));
    while let Some(after) = last {
        let mut transaction = pool.begin().await?;
        last =
            db::conversation::delete_empty(&mut transaction, cutoff, after, ROWS_AT_ONCE).await?;
        transaction.commit().await?;
    }
    Ok(())
}
