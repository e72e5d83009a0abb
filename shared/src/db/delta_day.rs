//! Daily partitions of live output: created ahead of time, and dropped when its retention ends.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgExecutor};

use super::Pool;
use super::event_week::is_too_late;

/// The number of future days that have partitions.
const DAYS_AHEAD: i32 = 2;

/// Makes the partitions of today and the next days that are missing. Returns the first error; no day is left out
/// because another could not be made. If the table is in use for too long now, the next call makes them.
pub async fn ensure_coming(db: &Pool) -> sqlx::Result<()> {
    let mut failed = None;
    for days_ahead in 0..=DAYS_AHEAD {
        let made = sqlx::query_scalar!("select ensure_delta_day($1)", days_ahead);
        let made = made.fetch_one(db).await;
        if is_too_late(&made) {
            tracing::info!(
                days_ahead,
                "live output is in use; its partition is made later"
            );
        } else if let Err(error) = made {
            failed.get_or_insert(error);
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Drops the days that ended before `cutoff`, and returns how many. A day that is in use for too long now is left to
/// the next call.
pub async fn trim(db: &Pool, cutoff: DateTime<Utc>) -> sqlx::Result<usize> {
    let partitions = sqlx::query_scalar!(
        r#"select partition as "partition!" from delta_day where end_at <= $1 order by first_at"#,
        cutoff
    );
    let mut dropped = 0;
    for partition in partitions.fetch_all(db).await? {
        dropped += usize::from(drop(db, &partition).await?);
    }
    Ok(dropped)
}

async fn drop(db: &Pool, partition: &str) -> sqlx::Result<bool> {
    let mut transaction = db.begin().await?;
    // All who read and write live output wait behind us while we wait.
    sqlx::query("set local lock_timeout = '100ms'")
        .execute(&mut *transaction)
        .await?;
    // An identifier cannot be a parameter; this one is ours.
    let drop = AssertSqlSafe(format!("drop table if exists \"{partition}\""));
    let dropped = sqlx::query(drop).execute(&mut *transaction).await;
    if is_too_late(&dropped) {
        return Ok(false);
    }
    dropped?;
    transaction.commit().await?;
    Ok(true)
}

/// Deletes up to `limit` rows before `cutoff` that were written on a day without a partition, and returns how many.
pub async fn delete_stray(
    db: impl PgExecutor<'_>,
    cutoff: DateTime<Utc>,
    limit: i64,
) -> sqlx::Result<u64> {
    let deleted = sqlx::query!(
        "delete from job_delta_other
         where ctid = any(array(select ctid from job_delta_other where at < $1 limit $2))",
        cutoff,
        limit,
    )
    .execute(db)
    .await?;
    Ok(deleted.rows_affected())
}
