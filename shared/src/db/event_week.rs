//! Weekly partitions of the logs and of the feed: created ahead of time, and dropped when their retention ends.
//!
//! Dropping a partition is fast, regardless of its size.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgExecutor};
use uuid::Uuid;

use super::{Connection, Pool};
use crate::id::JobId;

/// The partition of the logs or of the feed for jobs whose ids were created in one week.
#[derive(Clone, Debug)]
pub struct Week {
    table: String,
    partition: String,
    first_id: Uuid,
    end_id: Uuid,
}

/// The number of future weeks that have partitions.
const WEEKS_AHEAD: i32 = 2;

/// Creates the missing partitions of this week and the next weeks, and moves their events there from the default
/// partition. Continues after an error and returns the first one.
///
/// If a table is locked for too long, the partition is left to the next call.
pub async fn create_upcoming(db: &Pool) -> sqlx::Result<()> {
    let mut failed = None;
    for weeks_ahead in 0..=WEEKS_AHEAD {
        let logs = sqlx::query_scalar!("select ensure_event_week($1)", weeks_ahead);
        let logs = logs.fetch_one(db).await;
        let feed = sqlx::query_scalar!("select ensure_feed_week($1)", weeks_ahead);
        for (table, made) in [("job_event", logs), ("feed", feed.fetch_one(db).await)] {
            if is_too_late(&made) {
                tracing::info!(
                    table,
                    weeks_ahead,
                    "the table is locked; its partition is created later"
                );
            } else if let Err(error) = made {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Lists the weeks that ended before `cutoff`.
pub async fn list_past(db: impl PgExecutor<'_>, cutoff: DateTime<Utc>) -> sqlx::Result<Vec<Week>> {
    sqlx::query_as!(
        Week,
        r#"select "table" as "table!", partition as "partition!", first_id as "first_id!", end_id as "end_id!"
           from (
               select 'job_event' as "table", * from event_week
               union all
               select 'feed', * from feed_week
           ) as week
           where end_id <= first_job_id($1)
           order by first_id"#,
        cutoff,
    )
    .fetch_all(db)
    .await
}

/// Drops the partition of a week if none of its jobs exists. Returns `false` if a job exists or the table is locked
/// for too long.
pub async fn drop(db: &Pool, week: &Week) -> sqlx::Result<bool> {
    if has_jobs(db, week).await? {
        return Ok(false);
    }
    let mut transaction = db.begin().await?;
    // While this waits for the lock, all reads and writes of logs wait behind it, so it is better to retry later.
    // (Detaching the partition concurrently is not possible with a default partition.)
    sqlx::query("set local lock_timeout = '100ms'")
        .execute(&mut *transaction)
        .await?;
    // An identifier cannot be a parameter. These names are not user input.
    let lock = format!("lock table only {} in access exclusive mode", week.table);
    let locked = sqlx::query(AssertSqlSafe(lock)).execute(&mut *transaction);
    let locked = locked.await;
    if is_too_late(&locked) {
        return Ok(false);
    }
    locked?;
    // A transaction that accepts a job locks the table until it commits. While this lock is held, there is no such
    // transaction.
    if has_jobs(&mut *transaction, week).await? {
        return Ok(false);
    }
    let drop = AssertSqlSafe(format!("drop table \"{}\"", week.partition));
    let dropped = sqlx::query(drop).execute(&mut *transaction).await;
    if is_too_late(&dropped) {
        return Ok(false);
    }
    dropped?;
    transaction.commit().await?;
    if week.table != "job_event" {
        return Ok(true);
    }
    sqlx::query!(
        "delete from expired_log where job_id >= $1 and job_id < $2",
        week.first_id,
        week.end_id,
    )
    .execute(db)
    .await?;
    Ok(true)
}

async fn has_jobs(db: impl PgExecutor<'_>, week: &Week) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from job where id >= $1 and id < $2) as "exists!""#,
        week.first_id,
        week.end_id,
    )
    .fetch_one(db)
    .await
}

pub(super) fn is_too_late<T>(done: &sqlx::Result<T>) -> bool {
    let error = done.as_ref().err().and_then(sqlx::Error::as_database_error);
    error.is_some_and(|error| error.code().as_deref() == Some("55P03"))
}

/// Marks the logs of deleted jobs as expired. They are deleted with their week.
pub async fn forget(db: &mut Connection, jobs: &[JobId]) -> sqlx::Result<()> {
    let jobs: Vec<_> = jobs.iter().map(|job| job.0).collect();
    sqlx::query!(
        "insert into expired_log (job_id) select unnest($1::uuid[])",
        &jobs
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes up to `limit` expired logs one by one: those in weeks that ended before `cutoff` and still exist, and those
/// in no week. Returns their number.
pub async fn delete_forgotten(
    db: impl PgExecutor<'_>,
    cutoff: DateTime<Utc>,
    limit: i64,
) -> sqlx::Result<u64> {
    let logs = sqlx::query_scalar!(
        r#"with ahead as materialized (
               select first_id, end_id from event_week where end_id > first_job_id($1)
           ),
           due as (
               delete from expired_log
               where job_id in (
                   select job_id from expired_log as log
                   where not exists (select from ahead where log.job_id >= first_id and log.job_id < end_id)
                   order by job_id
                   limit $2
               )
               returning job_id
           ),
           deleted as (
               delete from job_event using due where job_event.job_id = due.job_id
           )
           select count(*) as "count!" from due"#,
        cutoff,
        limit,
    )
    .fetch_one(db)
    .await?;
    Ok(logs.unsigned_abs())
}
