//! The recorder of usage over time and of the queue's history, which also requests previews of the files of ended
//! jobs. Any worker records for all workers.

use std::time::Duration;

use shared::db::{self, Pool};

use super::step::run_step;

/// The interval at which ended jobs are recorded. It is short, so that usage and previews follow soon after a job's
/// end. It also catches each minute of the queue's history.
const INTERVAL: Duration = Duration::from_secs(5);
/// The maximum number of ended jobs per transaction.
const JOBS_AT_ONCE: i64 = 1000;

/// Records until it is dropped.
pub(crate) async fn run(pool: Pool) {
    loop {
        run_step("ended_jobs", record_ended(&pool)).await;
        run_step("queue_history", db::queue_history::record(&pool)).await;
        tokio::time::sleep(INTERVAL).await;
    }
}

/// Counts the usage of ended jobs and requests their previews, both once per job.
async fn record_ended(pool: &Pool) -> db::Result<()> {
    loop {
        let mut transaction = pool.begin().await?;
        let ended = db::usage::count_ended(&mut transaction, JOBS_AT_ONCE).await?;
        db::preview::request(&mut *transaction, &ended).await?;
        transaction.commit().await?;
        if ended.len() < JOBS_AT_ONCE as usize {
            return Ok(());
        }
    }
}
