//! Weekly partitions of the logs and of the feed: created ahead of time, and dropped when their retention ends.
//!
//! Dropping a partition is quick, however much is in it.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgExecutor};
use uuid::Uuid;

use super::{Connection, Pool};
use crate::id::JobId;

/// The logs, or the milestones in the feed, of the jobs whose ids were made in one week.
#[derive(Clone, Debug)]
pub struct Week {
    table: String,
    partition: String,
    first_id: Uuid,
    end_id: Uuid,
}

/// The number of future weeks that have partitions.
const WEEKS_AHEAD: i32 = 2;

/// Makes the partitions of this week and the next ones that are missing, and moves events of theirs into them that the
/// default partition has taken in. Returns the first error; no week is left out because another could not be made.
///
/// A week for which the log is in use for too long now is left to the next call.
pub async fn ensure_coming(db: &Pool) -> sqlx::Result<()> {
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
                    "it is in use; its partition is made later"
                );
            } else if let Err(error) = made {
                failed.get_or_insert(error);
            }
        }
    }
    failed.map_or(Ok(()), Err)
}

/// The weeks that ended before `cutoff`.
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

/// Drops a week's partition if none of its jobs is there any more; `false` if one is, or if someone uses the table for
/// too long now.
pub async fn drop(db: &Pool, week: &Week) -> sqlx::Result<bool> {
    if has_jobs(db, week).await? {
        return Ok(false);
    }
    let mut transaction = db.begin().await?;
    // All who read and write logs wait behind us while we wait, so it is better to come back later. (To detach the
    // partition concurrently is not possible beside a default partition.)
    sqlx::query("set local lock_timeout = '100ms'")
        .execute(&mut *transaction)
        .await?;
    // An identifier cannot be a parameter; these are ours.
    let lock = format!("lock table only {} in access exclusive mode", week.table);
    let locked = sqlx::query(AssertSqlSafe(lock)).execute(&mut *transaction);
    let locked = locked.await;
    if is_too_late(&locked) {
        return Ok(false);
    }
    locked?;
    // Who accepts a job holds the table until that is committed: now there is none on its way.
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

/// Removes up to `limit` forgotten logs one by one: those in weeks that ended before `cutoff` and are still there, and
/// those that are in no week. Returns how many.
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
