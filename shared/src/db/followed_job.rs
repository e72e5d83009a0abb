//! Followed jobs. Writers send notifications only for their events.

use std::time::Duration;

use sqlx::PgExecutor;

use crate::id::JobId;

/// The time for which a job counts as followed. The rows of an API process remain for this time after it ends.
pub const FOLLOWED_FOR: Duration = Duration::from_secs(120);

/// Marks jobs as followed. Events that are committed later cause notifications; the caller reads the earlier ones.
pub async fn publish(db: impl PgExecutor<'_>, jobs: &[JobId]) -> sqlx::Result<()> {
    // Rows are locked in the same order everywhere, to avoid deadlocks.
    let mut ids: Vec<_> = jobs.iter().map(|job| job.0).collect();
    ids.sort_unstable();
    ids.dedup();
    sqlx::query!(
        "insert into followed_job (job_id, until)
         select job_id, clock_timestamp() + $2::bigint * interval '1 second' from unnest($1::uuid[]) as job_id
         on conflict (job_id) do update set until = greatest(followed_job.until, excluded.until)",
        &ids,
        FOLLOWED_FOR.as_secs().cast_signed(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes up to `limit` expired rows and returns their number.
pub async fn delete_expired(db: impl PgExecutor<'_>, limit: i64) -> sqlx::Result<u64> {
    let deleted = sqlx::query!(
        "delete from followed_job
         where job_id in (
             select job_id from followed_job
             where until < now()
             order by until
             limit $1
             for update skip locked
         )",
        limit,
    )
    .execute(db)
    .await?;
    Ok(deleted.rows_affected())
}
