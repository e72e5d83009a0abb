//! Periodic maintenance, done by one worker for all.

use chrono::TimeDelta;
use sqlx::PgExecutor;

/// A maintenance task. Only one worker runs it at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MaintenanceTask {
    /// Creation of future partitions, and cleanup.
    Cleanup,
    /// Deletion of data that is older than its retention period.
    Retention,
    /// Garbage collection of blobs, one part of the store at a time.
    Blobs,
}

impl MaintenanceTask {
    fn name(self) -> &'static str {
        match self {
            Self::Cleanup => "cleanup",
            Self::Retention => "retention",
            Self::Blobs => "blob_gc",
        }
    }
}

/// Starts a task unless a worker started it within `pause`. Returns the number of earlier runs.
pub async fn begin(
    db: impl PgExecutor<'_>,
    task: MaintenanceTask,
    pause: TimeDelta,
) -> sqlx::Result<Option<i32>> {
    sqlx::query_scalar!(
        r#"update maintenance set started_at = now(), position = (position + 1) % 1000000000
           where name = $1 and started_at <= now() - $2::bigint * interval '1 second'
           returning position as "position!""#,
        task.name(),
        pause.num_seconds(),
    )
    .fetch_optional(db)
    .await
}
