//! Schedules and their next times.

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use sqlx::types::Json;

use super::{Connection, JsonText};
use crate::id::{AssetId, ScheduleId, TenantId};
use crate::schedule::{CatchUp, Overlap, Recurrence, RecurrenceError, ScheduleTiming};

/// The maximum number of schedules of a tenant. Each schedule causes work in the background.
pub const MAX_SCHEDULES: i64 = 1000;

/// The settings of a schedule from a request.
#[derive(Clone, Debug)]
pub struct ScheduleSettings {
    /// A name, unique in the tenant.
    pub name: String,
    /// The cron pattern; `None` if there is an interval.
    pub cron: Option<String>,
    /// The time zone of the cron pattern.
    pub time_zone: Option<String>,
    /// The interval in seconds.
    pub interval_seconds: Option<i32>,
    /// The job request as the client sent it.
    pub job: Box<RawValue>,
    /// Whether the schedule is paused.
    pub paused: bool,
    /// The behavior while the job of an earlier run has not ended.
    pub overlap: Overlap,
    /// The behavior for missed times.
    pub catch_up: CatchUp,
    /// The maximum number of missed times that run.
    pub catch_up_limit: i32,
    /// The maximum random delay of a run in seconds.
    pub jitter_seconds: i32,
    /// The earliest time.
    pub starts_at: Option<DateTime<Utc>>,
    /// The latest time.
    pub ends_at: Option<DateTime<Utc>>,
}

/// A stored schedule.
#[derive(Clone, Debug)]
pub struct StoredSchedule {
    /// The id of the schedule.
    pub id: ScheduleId,
    /// The tenant that owns the schedule.
    pub tenant: TenantId,
    /// The settings.
    pub settings: ScheduleSettings,
    /// The next time without a run.
    pub next_at: Option<DateTime<Utc>>,
    /// The creation time.
    pub created_at: DateTime<Utc>,
    /// The time of the last change of the settings.
    pub updated_at: DateTime<Utc>,
    /// The version, which increases with each change of the settings.
    pub version: i32,
}

impl StoredSchedule {
    /// Returns the times at which the schedule runs.
    pub fn timing(&self) -> Result<ScheduleTiming, RecurrenceError> {
        self.settings.timing(self.created_at)
    }
}

impl ScheduleSettings {
    /// Whether a schedule with these settings has the same times as one with the others.
    pub fn has_times_of(&self, others: &Self) -> bool {
        self.cron == others.cron
            && self.time_zone == others.time_zone
            && self.interval_seconds == others.interval_seconds
            && (self.starts_at, self.ends_at) == (others.starts_at, others.ends_at)
            && self.paused == others.paused
    }

    /// Returns the times at which a schedule with these settings runs, if it was created at `created_at`.
    pub fn timing(&self, created_at: DateTime<Utc>) -> Result<ScheduleTiming, RecurrenceError> {
        let recurrence = match (&self.cron, self.interval_seconds) {
            (Some(pattern), _) => {
                let zone = Recurrence::zone(self.time_zone.as_deref().unwrap_or("UTC"))?;
                Recurrence::cron(pattern, zone)?
            }
            (None, seconds) => Recurrence::interval(seconds.unwrap_or(1).unsigned_abs()),
        };
        Ok(ScheduleTiming {
            recurrence,
            created_at,
            starts_at: self.starts_at,
            ends_at: self.ends_at,
            jitter_seconds: self.jitter_seconds.unsigned_abs(),
        })
    }
}

/// The outcome of storing a schedule.
#[derive(Debug)]
pub enum SchedulePut {
    /// The schedule is stored.
    Stored(Box<StoredSchedule>),
    /// Another schedule of the tenant has the name.
    NameTaken,
    /// The tenant has reached the maximum number of schedules.
    TooMany,
    /// The schedule was changed or deleted since it was read.
    Changed,
}

/// Stores a new schedule.
pub async fn insert(
    db: &mut Connection,
    tenant: TenantId,
    settings: ScheduleSettings,
    timing: &ScheduleTiming,
) -> sqlx::Result<SchedulePut> {
    // Of two concurrent calls, the second counts the schedule of the first.
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('schedules of ' || $1::uuid::text, 0))",
        tenant.0,
    )
    .execute(&mut *db)
    .await?;
    let id = ScheduleId::new();
    let next_at = timing.next_after(timing.created_at);
    let row = sqlx::query!(
        r#"insert into schedule (
               id, tenant_id, name, cron, time_zone, interval_seconds, job, paused, overlap, catch_up, catch_up_limit,
               jitter_seconds, starts_at, ends_at, next_at, created_at, updated_at
           )
           select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $16
           where (select count(*) from schedule where tenant_id = $2) < $17
           on conflict (tenant_id, name) do nothing
           returning id"#,
        id.0,
        tenant.0,
        settings.name,
        settings.cron,
        settings.time_zone,
        settings.interval_seconds,
        JsonText(settings.job.get().to_owned()) as JsonText,
        settings.paused,
        settings.overlap as Overlap,
        settings.catch_up as CatchUp,
        settings.catch_up_limit,
        settings.jitter_seconds,
        settings.starts_at,
        settings.ends_at,
        next_at.filter(|_| !settings.paused),
        timing.created_at,
        MAX_SCHEDULES,
    )
    .fetch_optional(&mut *db)
    .await?;
    if row.is_none() {
        let is_taken = is_name_taken(&mut *db, tenant, &settings.name).await?;
        return Ok(if is_taken {
            SchedulePut::NameTaken
        } else {
            SchedulePut::TooMany
        });
    }
    let stored = get(&mut *db, tenant, id).await?;
    let stored = stored.ok_or(sqlx::Error::RowNotFound)?;
    Ok(SchedulePut::Stored(Box::new(stored)))
}

async fn is_name_taken(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    name: &str,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from schedule where tenant_id = $1 and name = $2) as "exists!""#,
        tenant.0,
        name,
    )
    .fetch_one(db)
    .await
}

/// Replaces the settings of a schedule that has not changed since it was read. Pass `next_at` only if the change
/// affects the next time. Otherwise the stored next time stays, so that a time that has just come is not lost.
pub async fn update(
    db: &mut Connection,
    read: &StoredSchedule,
    settings: &ScheduleSettings,
    next_at: Option<Option<DateTime<Utc>>>,
) -> sqlx::Result<SchedulePut> {
    let updated = sqlx::query_scalar!(
        r#"update schedule set
               name = $3, cron = $4, time_zone = $5, interval_seconds = $6, job = $7, paused = $8, overlap = $9,
               catch_up = $10, catch_up_limit = $11, jitter_seconds = $12, starts_at = $13, ends_at = $14,
               next_at = case when $15 then $16 else next_at end,
               updated_at = now(), version = version + 1
           where id = $1 and version = $2
           returning id"#,
        read.id.0,
        read.version,
        settings.name,
        settings.cron,
        settings.time_zone,
        settings.interval_seconds,
        JsonText(settings.job.get().to_owned()) as JsonText,
        settings.paused,
        settings.overlap as Overlap,
        settings.catch_up as CatchUp,
        settings.catch_up_limit,
        settings.jitter_seconds,
        settings.starts_at,
        settings.ends_at,
        next_at.is_some(),
        next_at.flatten(),
    )
    .fetch_optional(&mut *db)
    .await;
    match updated {
        Ok(Some(_)) => {}
        Ok(None) => return Ok(SchedulePut::Changed),
        Err(error) if is_name_conflict(&error) => return Ok(SchedulePut::NameTaken),
        Err(error) => return Err(error),
    }
    let stored = get(&mut *db, read.tenant, read.id).await?;
    Ok(stored.map_or(SchedulePut::Changed, |stored| {
        SchedulePut::Stored(Box::new(stored))
    }))
}

fn is_name_conflict(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    error.is_some_and(|error| error.constraint() == Some("schedule_name_key"))
}

/// Selects stored schedules. `$rest` is the rest of the statement.
macro_rules! select_schedules {
    ($rest:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            ScheduleRow,
            r#"select id, tenant_id, name, cron, time_zone, interval_seconds, job as "job: Json<Box<RawValue>>", paused,
                   overlap as "overlap: Overlap", catch_up as "catch_up: CatchUp", catch_up_limit, jitter_seconds,
                   starts_at, ends_at, next_at, created_at, updated_at, version
               from schedule
               "# + $rest,
            $($argument),*
        )
    };
}

/// Returns one of the tenant's schedules.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: ScheduleId,
) -> sqlx::Result<Option<StoredSchedule>> {
    let row = select_schedules!("where tenant_id = $1 and id = $2", tenant.0, id.0)
        .fetch_optional(db)
        .await?;
    Ok(row.map(StoredSchedule::from))
}

/// Lists the tenant's schedules before `before`, newest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    before: Option<ScheduleId>,
    limit: i64,
) -> sqlx::Result<Vec<StoredSchedule>> {
    let rows = select_schedules!(
        "where tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3",
        tenant.0,
        before.map(|id| id.0),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(StoredSchedule::from).collect())
}

/// Deletes one of the tenant's schedules with its runs, but not their jobs. Returns `false` if it does not exist.
pub async fn delete(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: ScheduleId,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "delete from schedule where tenant_id = $1 and id = $2",
        tenant.0,
        id.0,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Locks up to `limit` due schedules. Skips schedules that another worker has locked.
pub async fn lock_due(db: &mut Connection, limit: i64) -> sqlx::Result<Vec<StoredSchedule>> {
    let rows = select_schedules!(
        "where next_at <= now() order by next_at limit $1 for update skip locked",
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(StoredSchedule::from).collect())
}

/// Sets the next time of a schedule that the caller has locked.
pub async fn set_next(
    db: impl PgExecutor<'_>,
    id: ScheduleId,
    next_at: Option<DateTime<Utc>>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update schedule set next_at = $2 where id = $1",
        id.0,
        next_at
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lists the input assets of the jobs of all schedules.
pub async fn list_inputs(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<AssetId>> {
    let ids = sqlx::query_scalar!(
        r#"select input ->> 'asset_id' as "id!"
           from schedule, json_array_elements(schedule.job -> 'inputs') as input
           where input ->> 'asset_id' is not null"#,
    )
    .fetch_all(db)
    .await?;
    Ok(ids.iter().filter_map(|id| id.parse().ok()).collect())
}

struct ScheduleRow {
    id: uuid::Uuid,
    tenant_id: uuid::Uuid,
    name: String,
    cron: Option<String>,
    time_zone: Option<String>,
    interval_seconds: Option<i32>,
    job: Json<Box<RawValue>>,
    paused: bool,
    overlap: Overlap,
    catch_up: CatchUp,
    catch_up_limit: i32,
    jitter_seconds: i32,
    starts_at: Option<DateTime<Utc>>,
    ends_at: Option<DateTime<Utc>>,
    next_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    version: i32,
}

impl From<ScheduleRow> for StoredSchedule {
    fn from(row: ScheduleRow) -> Self {
        Self {
            id: ScheduleId(row.id),
            tenant: TenantId(row.tenant_id),
            settings: ScheduleSettings {
                name: row.name,
                cron: row.cron,
                time_zone: row.time_zone,
                interval_seconds: row.interval_seconds,
                job: row.job.0,
                paused: row.paused,
                overlap: row.overlap,
                catch_up: row.catch_up,
                catch_up_limit: row.catch_up_limit,
                jitter_seconds: row.jitter_seconds,
                starts_at: row.starts_at,
                ends_at: row.ends_at,
            },
            next_at: row.next_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
            version: row.version,
        }
    }
}
