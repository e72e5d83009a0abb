//! Runs of schedules: one row for each scheduled time, started by one worker.

mod start;

use chrono::{DateTime, Utc};
use serde_json::Value;
use sqlx::PgExecutor;
use sqlx::types::Json;

use super::{Connection, JsonText};
use crate::id::{JobId, ScheduleId, TenantId};
use crate::job::Status;
use crate::schedule::{RunStatus, RunTrigger, ScheduleRun, SkipReason};

pub use start::{
    ClaimedRun, RunRefusal, RunStart, claim, fail, list_open_jobs, release, skip, start,
};

/// The maximum number of waiting runs of one schedule. Further runs are skipped.
const MAX_WAITING: i64 = 100;

/// A run to insert.
#[derive(Clone, Debug)]
pub struct NewRun {
    /// The scheduled time.
    pub scheduled_for: DateTime<Utc>,
    /// The scheduled time with the jitter.
    pub due_at: DateTime<Utc>,
    /// The last of several times that are skipped together. Set only for skipped times.
    pub missed_until: Option<DateTime<Utc>>,
}

/// Inserts runs of a schedule that the caller has locked. An existing run does not change.
pub async fn insert(
    db: &mut Connection,
    schedule: ScheduleId,
    runs: &[NewRun],
) -> sqlx::Result<()> {
    for run in runs {
        let is_missed = run.missed_until.is_some();
        sqlx::query!(
            r#"with waiting as (
                   select count(*) as number from schedule_run where schedule_id = $1 and status = 'pending'
               )
               insert into schedule_run (schedule_id, scheduled_for, due_at, missed_until, status, reason)
               select $1, $2::timestamptz, $3, nullif($4::timestamptz, $2),
                   case when $5 or number >= $6 then 'skipped' else 'pending' end,
                   case when $5 then 'missed' when number >= $6 then 'too_many_waiting' end
               from waiting
               on conflict do nothing"#,
            schedule.0,
            run.scheduled_for,
            run.due_at,
            run.missed_until,
            is_missed,
            MAX_WAITING,
        )
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

/// Lists the runs of one of the tenant's schedules before an instant, newest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    schedule: ScheduleId,
    before: Option<DateTime<Utc>>,
    limit: i64,
) -> sqlx::Result<Vec<ScheduleRun>> {
    let rows = sqlx::query!(
        r#"select scheduled_for, missed_until, is_manual, due_at, schedule_run.status as "status: RunStatus",
               reason as "reason: SkipReason", error as "error: Json<Value>", schedule_run.job_id,
               case
                   when job.id is null then null
                   else coalesce(
                       job_end.outcome::text,
                       case run.state when 'running' then 'running' when 'waiting' then 'waiting' else 'queued' end
                   )
               end as "job_status: Status",
               schedule_run.updated_at
           from schedule_run
           join schedule on schedule.id = schedule_run.schedule_id
           left join job on job.id = schedule_run.job_id
           left join run on run.job_id = job.id
           left join job_end on job_end.job_id = job.id
           where schedule.tenant_id = $1 and schedule_run.schedule_id = $2
             and ($3::timestamptz is null or scheduled_for < $3)
           order by scheduled_for desc
           limit $4"#,
        tenant.0,
        schedule.0,
        before,
        limit,
    )
    .fetch_all(db)
    .await?;
    let runs = rows.into_iter().map(|row| ScheduleRun {
        scheduled_for: row.scheduled_for,
        missed_until: row.missed_until,
        trigger: if row.is_manual {
            RunTrigger::Manual
        } else {
            RunTrigger::Schedule
        },
        due_at: row.due_at,
        status: row.status,
        reason: row.reason,
        error: row.error.map(|error| error.0),
        job_id: row.job_id.map(JobId),
        job_status: row.job_status,
        updated_at: row.updated_at,
    });
    Ok(runs.collect())
}

/// Closes the runs whose job has ended, so that checks for overlaps are fast.
pub async fn close_ended(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query!(
        "update schedule_run set is_open = false
         where is_open and not exists (select from run where run.job_id = schedule_run.job_id)",
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes up to `limit` ended runs from before `cutoff` and returns their number.
pub async fn delete_old(
    db: impl PgExecutor<'_>,
    cutoff: DateTime<Utc>,
    limit: i64,
) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "delete from schedule_run
         where (schedule_id, scheduled_for) in (
             select schedule_id, scheduled_for from schedule_run
             where status <> 'pending' and scheduled_for < $1 and not is_open
             order by scheduled_for
             limit $2
         )",
        cutoff,
        limit,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

fn stored(error: &impl serde::Serialize) -> JsonText {
    JsonText::of(error)
}
