//! Periodic maintenance, which any worker does for all workers: cleanup, retention, blob garbage collection.
//!
//! Each piece is a small transaction, so another worker can do the rest if a worker dies. No step depends on another:
//! a step that fails is repeated in the next round, and the others continue.

mod approval_expiry;
mod blob_gc;
mod cleanup;
pub(crate) mod reaper;
pub(crate) mod recorder;
mod retention;
mod skip;
mod step;

use std::sync::Arc;
use std::time::Duration;

use chrono::TimeDelta;
use shared::asset::AssetStore;
use shared::db::maintenance::MaintenanceTask;
use shared::db::{self, Pool};

use crate::worker_context::WorkerContext;

pub use retention::Keep;

/// The interval at which a worker checks whether a task is due.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
/// The interval of each task across all workers.
const TASKS: [(MaintenanceTask, TimeDelta); 3] = [
    (MaintenanceTask::Cleanup, TimeDelta::minutes(5)),
    (MaintenanceTask::Retention, TimeDelta::hours(1)),
    (MaintenanceTask::Blobs, TimeDelta::minutes(5)),
];

/// Runs due tasks until it is dropped.
pub(crate) async fn run(context: Arc<WorkerContext>, keep: Keep) {
    loop {
        for (task, pause) in TASKS {
            if let Err(error) = step(&context.pool, &context.assets, keep, task, pause).await {
                let error = format!("{error:#}");
                tracing::warn!(?task, error, "maintenance failed");
            }
        }
        tokio::time::sleep(CHECK_INTERVAL).await;
    }
}

async fn step(
    pool: &Pool,
    assets: &AssetStore,
    keep: Keep,
    task: MaintenanceTask,
    pause: TimeDelta,
) -> anyhow::Result<()> {
    let Some(round) = db::maintenance::begin(pool, task, pause).await? else {
        return Ok(());
    };
    match task {
        MaintenanceTask::Cleanup => cleanup::run(pool, assets).await,
        MaintenanceTask::Retention => retention::run(pool, assets, keep).await?,
        MaintenanceTask::Blobs => blob_gc::run(pool, assets, round.to_le_bytes()[0]).await?,
    }
    Ok(())
}
