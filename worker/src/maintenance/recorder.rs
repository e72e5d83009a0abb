//! Records usage over time and the history of the queue, which any worker does for all.

use std::time::Duration;

use shared::db::{self, Pool};

use super::step::run_step;

/// The interval at which ended jobs are counted. Short, so that usage follows the jobs closely; it also finds each
/// minute of the queue's history.
const INTERVAL: Duration = Duration::from_secs(5);
/// Ended jobs of one transaction.
const JOBS_AT_ONCE: i64 = 1000;

/// Records until it is dropped.
pub(crate) async fn run(pool: Pool) {
    loop {
        run_step("usage", count_ended(&pool)).await;
        run_step("queue_history", db::queue_history::record(&pool)).await;
        tokio::time::sleep(INTERVAL).await;
    }
}

async fn count_ended(pool: &Pool) -> db::Result<()> {
    while db::usage::count_ended(pool, JOBS_AT_ONCE).await? >= JOBS_AT_ONCE as usize {}
    Ok(())
}
