//! Submit limits of tenants, exact across all API processes.
//!
//! Only tenants with limits bear the cost: their jobs are accepted one after another, under a row lock.

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use super::{Connection, Pool};
use crate::id::TenantId;
use crate::submit_limit::{RateState, SubmitLimits, SubmitRate, SubmitRefusal};

/// The minimum time between two counts of the jobs of a tenant at its limit, because counting is slow.
const COUNT_PAUSE: TimeDelta = TimeDelta::seconds(1);

/// Sets the submit limits of a tenant. Returns `false` if the tenant does not exist.
pub async fn put(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    limits: SubmitLimits,
) -> sqlx::Result<bool> {
    let rate = limits.submit_rate;
    let done = sqlx::query!(
        "insert into submit_limit (tenant_id, max_queued, per_minute, burst)
         select id, $2, $3, $4
         from tenant
         where id = $1
         on conflict (tenant_id) do update set
             max_queued = $2, per_minute = $3, burst = $4, burst_full_at = now(), room = 0, no_room_at = 'epoch'",
        tenant.0,
        limits.max_queued.map(to_stored),
        rate.map(|rate| to_stored(rate.per_minute)),
        rate.map(|rate| to_stored(rate.burst)),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Marks the unfinished jobs of a tenant that were accepted before it had such a limit, so that they count. May miss a
/// job that is accepted at the moment when the limit is set.
pub async fn count_earlier(db: &Pool, tenant: TenantId) -> sqlx::Result<()> {
    let mut last = Some(Uuid::nil());
    while let Some(after) = last {
        // Skips locked runs, because a statement that holds locks and waits for others could cause a deadlock.
        last = sqlx::query_scalar!(
            "with uncounted as materialized (
                 select job_id from run
                 where tenant_id = $1 and not counts_toward_limit and job_id > $2
                 order by job_id
                 limit 1000
                 for update skip locked
             ),
             counted as (
                 update run set counts_toward_limit = true from uncounted where run.job_id = uncounted.job_id
             )
             select job_id from uncounted order by job_id desc limit 1",
            tenant.0,
            after,
        )
        .fetch_optional(db)
        .await?;
    }
    // The skipped runs follow one at a time: a statement that holds no other lock can wait.
    while let Some(skipped) = sqlx::query_scalar!(
        "select job_id from run where tenant_id = $1 and not counts_toward_limit limit 1",
        tenant.0,
    )
    .fetch_optional(db)
    .await?
    {
        sqlx::query!(
            "update run set counts_toward_limit = true where job_id = $1",
            skipped,
        )
        .execute(db)
        .await?;
    }
    Ok(())
}

/// Returns the submit limits of a tenant, or `None` if the tenant does not exist.
pub async fn get(db: impl PgExecutor<'_>, tenant: TenantId) -> sqlx::Result<Option<SubmitLimits>> {
    let row = sqlx::query!(
        r#"select max_queued as "max_queued?", per_minute as "per_minute?", burst as "burst?"
           from tenant
           left join submit_limit on submit_limit.tenant_id = tenant.id
           where tenant.id = $1"#,
        tenant.0,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| limits(row.max_queued, row.per_minute, row.burst)))
}

/// Admits jobs that the same transaction inserts, and returns how they count toward a limit. Other requests of the
/// tenant wait until the transaction ends. Commit it after a refusal, too, so that not every request counts the jobs
/// again.
pub async fn take(
    db: &mut Connection,
    tenant: TenantId,
    jobs: usize,
) -> sqlx::Result<Result<Taken, SubmitRefusal>> {
    let Some(held) = lock(&mut *db, tenant).await? else {
        return Ok(Ok(Taken::default()));
    };
    let jobs = u32::try_from(jobs).unwrap_or(u32::MAX);
    let SubmitLimits {
        max_queued,
        submit_rate,
    } = held.limits;
    let burst = submit_rate.map(|rate| rate.burst);
    let most = burst.into_iter().chain(max_queued).min();
    if let Some(most) = most.filter(|most| jobs > *most) {
        return Ok(Err(SubmitRefusal::Never { most }));
    }
    let burst_full_at = match submit_rate.map(|rate| rate.take(held.burst_full_at, held.now, jobs))
    {
        Some(Err(wait)) => return Ok(Err(SubmitRefusal::TooFast(wait))),
        Some(Ok(burst_full_at)) => burst_full_at,
        None => held.burst_full_at,
    };
    let mut room = held.room;
    if let Some(most) = max_queued.filter(|_| room < jobs) {
        let counted_again_at = held.no_room_at + COUNT_PAUSE;
        if counted_again_at > held.now {
            return Ok(Err(SubmitRefusal::TooMany(counted_again_at - held.now)));
        }
        room = most.saturating_sub(count(&mut *db, tenant, most).await?);
        if room < jobs {
            note_no_room(db, tenant).await?;
            return Ok(Err(SubmitRefusal::TooMany(COUNT_PAUSE)));
        }
    }
    sqlx::query!(
        "update submit_limit set burst_full_at = $2, room = $3 where tenant_id = $1",
        tenant.0,
        burst_full_at,
        to_stored(room.saturating_sub(jobs)),
    )
    .execute(db)
    .await?;
    Ok(Ok(Taken {
        counted: max_queued.is_some(),
        rate: submit_rate.map(|rate| RateState {
            rate,
            full_at: burst_full_at,
            now: held.now,
        }),
    }))
}

/// The outcome for admitted jobs.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taken {
    /// Whether the jobs count toward a limit until they end.
    pub counted: bool,
    /// The current state of the tenant's submit rate.
    pub rate: Option<RateState>,
}

/// The locked row of a tenant.
struct Held {
    limits: SubmitLimits,
    burst_full_at: DateTime<Utc>,
    room: u32,
    no_room_at: DateTime<Utc>,
    now: DateTime<Utc>,
}

async fn lock(db: &mut Connection, tenant: TenantId) -> sqlx::Result<Option<Held>> {
    // The time is read after the row is locked. The time of the transaction would be too early.
    let row = sqlx::query!(
        r#"with held as materialized (
               select max_queued, per_minute, burst, burst_full_at, room, no_room_at
               from submit_limit
               where tenant_id = $1
               for update
           )
           select held.*, clock_timestamp() as "now!" from held"#,
        tenant.0,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Held {
        limits: limits(row.max_queued, row.per_minute, row.burst),
        burst_full_at: row.burst_full_at,
        room: from_stored(row.room),
        no_room_at: row.no_room_at,
        now: row.now,
    }))
}

async fn note_no_room(db: &mut Connection, tenant: TenantId) -> sqlx::Result<()> {
    sqlx::query!(
        "update submit_limit set no_room_at = clock_timestamp() where tenant_id = $1",
        tenant.0
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Counts the unfinished jobs of a tenant, up to `most`.
async fn count(db: &mut Connection, tenant: TenantId, most: u32) -> sqlx::Result<u32> {
    let count = sqlx::query_scalar!(
        r#"select count(*)::int as "count!"
           from (select from run where tenant_id = $1 and counts_toward_limit limit $2) as unfinished"#,
        tenant.0,
        i64::from(most),
    )
    .fetch_one(db)
    .await?;
    Ok(from_stored(count))
}

fn limits(max_queued: Option<i32>, per_minute: Option<i32>, burst: Option<i32>) -> SubmitLimits {
    let rate = per_minute.zip(burst).map(|(per_minute, burst)| SubmitRate {
        per_minute: from_stored(per_minute),
        burst: from_stored(burst),
    });
    SubmitLimits {
        max_queued: max_queued.map(from_stored),
        submit_rate: rate,
    }
}

fn to_stored(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

fn from_stored(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}
