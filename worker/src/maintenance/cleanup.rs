//! Cleanup: partitions of the coming weeks and days, stalled jobs, old keys, and leftovers of workers that died.

use shared::asset::AssetStore;
use shared::db::{self, Pool};

use super::blob_gc::UPLOAD_TIMEOUT;
use super::step::{ROWS_AT_ONCE, release, run_step};

/// Creates the partitions of the coming weeks and days, and deletes recent leftovers.
pub(super) async fn run(pool: &Pool, assets: &AssetStore) {
    run_step("event_weeks", db::event_week::create_upcoming(pool)).await;
    run_step("delta_days", db::delta_day::create_upcoming(pool)).await;
    run_step("lanes", reopen_lanes(pool)).await;
    run_step("conversations", admit_stalled(pool)).await;
    run_step("schedule_runs", db::schedule_run::close_ended(pool)).await;
    run_step("idempotency_keys", delete_old_keys(pool)).await;
    run_step("followed_jobs", delete_unfollowed(pool)).await;
    run_step("feeds", db::feed::clear_unused(pool)).await;
    run_step("webhook_secrets", db::webhook_secret::delete_expired(pool)).await;
    run_step("webhook_origins", db::webhook::delete_unused_origins(pool)).await;
    run_step("webhook_tests", delete_webhook_tests(pool)).await;
    run_step("queue_history", db::queue_history::delete_old(pool)).await;
    run_step("workers", db::worker::delete_stopped(pool)).await;
    run_step("unseen_assets", delete_unseen(pool, assets)).await;
    run_step("blob_deletions", repeat_deletions(pool, assets)).await;
    // Leftovers of a worker that died during their deletion, or that found them in use by a job.
    run_step("skills", db::skill::release(pool, assets, None)).await;
    run_step("uploads", assets.sweep_uploads(UPLOAD_TIMEOUT)).await;
    run_step("workspaces", clear_workspaces(pool, assets)).await;
}

/// Reopens lanes for jobs that a worker of an earlier release made ready.
async fn reopen_lanes(pool: &Pool) -> db::Result<()> {
    let reopened = db::lane::reopen(pool).await?;
    if reopened > 0 {
        tracing::warn!(
            lanes = reopened,
            "reopened lanes that were closed although they had jobs"
        );
    }
    Ok(())
}

/// Admits jobs of conversations that were stalled for more than a minute.
async fn admit_stalled(pool: &Pool) -> db::Result<()> {
    while db::conversation::admit_stalled(pool, None).await? > 0 {
        db::run::notify_work(pool).await?;
    }
    Ok(())
}

async fn delete_unfollowed(pool: &Pool) -> db::Result<()> {
    while db::followed_job::delete_expired(pool, ROWS_AT_ONCE).await? >= ROWS_AT_ONCE as u64 {}
    Ok(())
}

async fn delete_webhook_tests(pool: &Pool) -> db::Result<()> {
    while db::webhook_delivery::delete_old_tests(pool, ROWS_AT_ONCE).await? >= ROWS_AT_ONCE as u64 {
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

/// Deletes blobs whose deletion was interrupted by the end of a process, or failed because the store was unavailable.
async fn repeat_deletions(pool: &Pool, assets: &AssetStore) -> anyhow::Result<()> {
    let blobs = db::blob::list_undeleted(pool, ROWS_AT_ONCE).await?;
    release(pool, assets, blobs).await
}

/// Deletes saved workspaces that are no longer needed: those of a worker that died right after a job's end, and all
/// but the last of each conversation.
async fn clear_workspaces(pool: &Pool, assets: &AssetStore) -> anyhow::Result<()> {
    let saved = assets.list_workspaces().await?;
    let needed = db::job::list_with_workspace(pool, &saved).await?;
    for job in saved.iter().filter(|job| !needed.contains(job)) {
        if let Err(error) = assets.workspace_store(*job).clear().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(%job, error, "cannot delete a saved workspace; maintenance will retry");
        }
    }
    Ok(())
}
