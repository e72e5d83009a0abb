//! Daily partitions of live output: created ahead of time, and dropped when its retention ends.

use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, PgExecutor};

use super::Pool;
use super::event_week::is_too_late;

/// The number of future days that have partitions.
const DAYS_AHEAD: i32 = 2;

/// Creates the missing partitions of today and the next days. Continues after an error and returns the first one. If
/// the table is locked for too long, the next call creates the partition.
pub async fn create_upcoming(db: &Pool) -> sqlx::Result<()> {
    let mut failed = None;
    for days_ahead in 0..=DAYS_AHEAD {
        let made = sqlx::query_scalar!("select ensure_delta_day($1)", days_ahead);
        let made = made.fetch_one(db).await;
        if is_too_late(&made) {
            tracing::info!(
                days_ahead,
                "the table of live output is locked; its partition is created later"
            );
        } else if let Err(error) = made {
            failed.get_or_insert(error);
        }
    }
    failed.map_or(Ok(()), Err)
}

/// Drops the partitions of days that ended before `cutoff` and returns their number. A partition that is locked for
/// too long is left to the next call.
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
    // While this waits for the lock, all reads and writes of live output wait behind it.
    sqlx::query("set local lock_timeout = '100ms'")
        .execute(&mut *transaction)
        .await?;
    // An identifier cannot be a parameter. The name is not user input.
    let drop = AssertSqlSafe(format!("drop table if exists \"{partition}\""));
    let dropped = sqlx::query(drop).execute(&mut *transaction).await;
    if is_too_late(&dropped) {
        return Ok(false);
    }
    dropped?;
    transaction.commit().await?;
    Ok(true)
}

/// Deletes up to `limit` rows before `cutoff` that were written on a day without a partition. Returns their number.
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
