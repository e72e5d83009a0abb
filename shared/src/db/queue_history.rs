//! The history of the queue, with one row per minute.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::queue::Depth;
use super::{Connection, Pool, queue};

/// The retention of the history in minutes.
pub const KEPT_MINUTES: i32 = 30 * 24 * 60;

/// The queue in one period of its history. The depth is `None` if no worker recorded it.
#[derive(Clone, Copy, Debug)]
pub struct QueuePeriod {
    /// The first minute of the period.
    pub at: DateTime<Utc>,
    /// The number of jobs that were ready for a free slot.
    pub ready: Option<i32>,
    /// The number of jobs whose earliest start was in the future.
    pub scheduled: Option<i32>,
    /// The number of jobs that waited for an earlier job of their conversation.
    pub blocked: Option<i32>,
    /// The number of jobs that workers were running.
    pub running: Option<i32>,
    /// The number of jobs that waited for approval.
    pub waiting: Option<i32>,
    /// The time that the longest waiting ready job had been due, in seconds.
    pub oldest_seconds: Option<i32>,
    /// The number of jobs that completed.
    pub completed: i64,
    /// The number of jobs that failed.
    pub failed: i64,
    /// The number of jobs that were cancelled.
    pub cancelled: i64,
}

/// The number of jobs that ended in one minute, by outcome.
#[derive(Clone, Copy, Default)]
pub(super) struct EndsInMinute {
    pub(super) completed: i32,
    pub(super) failed: i32,
    pub(super) cancelled: i32,
}

/// Records the depth of the queue for this minute, unless another process already has.
pub async fn record(pool: &Pool) -> sqlx::Result<()> {
    let is_recorded = sqlx::query_scalar!(
        r#"select exists (
               select from queue_minute where minute = date_trunc('minute', now()) and ready is not null
           ) as "is_recorded!""#,
    )
    .fetch_one(pool)
    .await?;
    if is_recorded {
        return Ok(());
    }
    let depth = queue::get_depth(pool).await?;
    insert(pool, &depth).await
}

async fn insert(db: impl PgExecutor<'_>, depth: &Depth) -> sqlx::Result<()> {
    let oldest = depth
        .oldest
        .map(|oldest| (depth.now - oldest).num_seconds());
    sqlx::query!(
        "insert into queue_minute as known (minute, ready, scheduled, blocked, running, waiting, oldest_seconds)
         values (date_trunc('minute', $1::timestamptz), $2, $3, $4, $5, $6, $7)
         on conflict (minute) do update set
             ready = excluded.ready, scheduled = excluded.scheduled, blocked = excluded.blocked,
             running = excluded.running, waiting = excluded.waiting, oldest_seconds = excluded.oldest_seconds
         where known.ready is null",
        depth.now,
        depth.ready as i32,
        depth.scheduled as i32,
        depth.blocked as i32,
        depth.running as i32,
        depth.waiting as i32,
        oldest.map(|seconds| seconds.clamp(0, i32::MAX.into()) as i32),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Adds ended jobs to the rows of their minutes.
pub(super) async fn add_ends(
    db: &mut Connection,
    ends: &BTreeMap<DateTime<Utc>, EndsInMinute>,
) -> sqlx::Result<()> {
    let minutes: Vec<_> = ends.keys().copied().collect();
    let column = |count: fn(&EndsInMinute) -> i32| ends.values().map(count).collect::<Vec<_>>();
    sqlx::query!(
        "insert into queue_minute as known (minute, completed, failed, cancelled)
         select * from unnest($1::timestamptz[], $2::int[], $3::int[], $4::int[])
         on conflict (minute) do update set
             completed = known.completed + excluded.completed,
             failed = known.failed + excluded.failed,
             cancelled = known.cancelled + excluded.cancelled",
        &minutes,
        &column(|ends| ends.completed),
        &column(|ends| ends.failed),
        &column(|ends| ends.cancelled),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lists the history of the last `minutes` in periods of `step` minutes: the maximum depth of each period and all its
/// ended jobs. Periods without a row are omitted.
pub async fn list(
    db: impl PgExecutor<'_>,
    minutes: i32,
    step: i32,
) -> sqlx::Result<Vec<QueuePeriod>> {
    sqlx::query_as!(
        QueuePeriod,
        r#"select
               date_bin(make_interval(mins => $2), minute, 'epoch') as "at!",
               max(ready) as ready,
               max(scheduled) as scheduled,
               max(blocked) as blocked,
               max(running) as running,
               max(waiting) as waiting,
               max(oldest_seconds) as oldest_seconds,
               sum(completed) as "completed!",
               sum(failed) as "failed!",
               sum(cancelled) as "cancelled!"
           from queue_minute
           where minute > now() - make_interval(mins => $1)
           group by 1
           order by 1"#,
        minutes,
        step,
    )
    .fetch_all(db)
    .await
}

/// Deletes minutes that are older than [`KEPT_MINUTES`].
pub async fn delete_old(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from queue_minute where minute < now() - make_interval(mins => $1)",
        KEPT_MINUTES,
    )
    .execute(db)
    .await?;
    Ok(())
}
