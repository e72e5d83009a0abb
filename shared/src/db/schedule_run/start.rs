//! The start of a run: claimed by one worker, and marked in the transaction that creates its job.

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use sqlx::types::Json;

use super::stored;
use crate::db::{Connection, JsonText};
use crate::id::{JobId, ScheduleId, TenantId};
use crate::schedule::{Overlap, SkipReason};

/// The seconds after which another worker may start a claimed run.
const CLAIM_SECONDS: i32 = 30;

/// A due run that the caller must start.
#[derive(Debug)]
pub struct ClaimedRun {
    /// The schedule.
    pub schedule: ScheduleId,
    /// The tenant that owns the schedule.
    pub tenant: TenantId,
    /// The scheduled time.
    pub scheduled_for: DateTime<Utc>,
    /// The job request.
    pub job: Box<RawValue>,
    /// The behavior while the job of an earlier run has not ended.
    pub overlap: Overlap,
    /// The number of attempts to start the run that ended with an internal error.
    pub attempts: i16,
    /// Whether the tenant has a budget.
    pub has_budget: bool,
    /// Whether the tenant has submit limits.
    pub has_submit_limit: bool,
    /// Whether the tenant has uploaded skills.
    pub has_skills: bool,
}

/// Claims up to `limit` due runs: the earliest of each schedule, unless it waits for the job of an earlier run.
pub async fn claim(db: impl PgExecutor<'_>, limit: i64) -> sqlx::Result<Vec<ClaimedRun>> {
    let rows = sqlx::query!(
        r#"with due as materialized (
               select due.schedule_id, due.scheduled_for
               from schedule_run as due
               join schedule on schedule.id = due.schedule_id
               where due.status = 'pending' and due.due_at <= now() and not schedule.paused
                 and (due.claimed_at is null or due.claimed_at < now() - $2::int * interval '1 second')
                 and not exists (
                     select from schedule_run as earlier
                     where earlier.schedule_id = due.schedule_id and earlier.status = 'pending'
                       and earlier.scheduled_for < due.scheduled_for
                 )
                 and (schedule.overlap <> 'queue' or not exists (
                     select from schedule_run as before
                     join run on run.job_id = before.job_id
                     where before.schedule_id = due.schedule_id and before.is_open
                 ))
               limit $1
               for update of due skip locked
           ),
           claimed as (
               update schedule_run as run set claimed_at = now()
               from due
               where run.schedule_id = due.schedule_id and run.scheduled_for = due.scheduled_for
               returning run.schedule_id, run.scheduled_for, run.attempts
           )
           select schedule.id, schedule.tenant_id, claimed.scheduled_for, claimed.attempts,
               schedule.job as "job: Json<Box<RawValue>>", schedule.overlap as "overlap: Overlap",
               exists (select from tenant_budget where tenant_budget.tenant_id = schedule.tenant_id) as "has_budget!",
               exists (select from submit_limit where submit_limit.tenant_id = schedule.tenant_id) as "has_submit_limit!",
               exists (select from skill where skill.tenant_id = schedule.tenant_id) as "has_skills!"
           from claimed
           join schedule on schedule.id = claimed.schedule_id"#,
        limit,
        CLAIM_SECONDS,
    )
    .fetch_all(db)
    .await?;
    let runs = rows.into_iter().map(|row| ClaimedRun {
        schedule: ScheduleId(row.id),
        tenant: TenantId(row.tenant_id),
        scheduled_for: row.scheduled_for,
        job: row.job.0,
        overlap: row.overlap,
        attempts: row.attempts,
        has_budget: row.has_budget,
        has_submit_limit: row.has_submit_limit,
        has_skills: row.has_skills,
    });
    Ok(runs.collect())
}

/// A run for which a transaction creates the job.
#[derive(Clone, Copy, Debug)]
pub struct RunStart {
    /// The schedule.
    pub schedule: ScheduleId,
    /// The scheduled time, or `None` for a run that a client starts now.
    pub scheduled_for: Option<DateTime<Utc>>,
}

/// The reason why a run does not start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunRefusal {
    /// The schedule was deleted, or the run was started or skipped in the meantime.
    Gone,
    /// The job of an earlier run has not ended.
    Overlap,
}

/// Marks a run as started with a job that the same transaction inserts. Runs of one schedule are marked one after
/// another, so that only one of two workers starts a run.
pub async fn start(
    db: &mut Connection,
    run: RunStart,
    job: JobId,
) -> sqlx::Result<Result<(), RunRefusal>> {
    let overlap = sqlx::query_scalar!(
        r#"select overlap as "overlap: Overlap" from schedule where id = $1 for update"#,
        run.schedule.0,
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(overlap) = overlap else {
        return Ok(Err(RunRefusal::Gone));
    };
    let Some(scheduled_for) = run.scheduled_for else {
        insert_manual(db, run.schedule, job).await?;
        return Ok(Ok(()));
    };
    if overlap != Overlap::CancelRunning
        && !list_open_jobs(&mut *db, run.schedule).await?.is_empty()
    {
        return Ok(Err(RunRefusal::Overlap));
    }
    let done = sqlx::query!(
        "update schedule_run set status = 'started', job_id = $3, is_open = true, updated_at = now()
         where schedule_id = $1 and scheduled_for = $2 and status = 'pending'",
        run.schedule.0,
        scheduled_for,
        job.0,
    )
    .execute(db)
    .await?;
    Ok(if done.rows_affected() == 1 {
        Ok(())
    } else {
        Err(RunRefusal::Gone)
    })
}

/// Inserts a run that a client starts now. Scheduled times are whole seconds and the time of this run is not, so that
/// they never conflict.
async fn insert_manual(db: &mut Connection, schedule: ScheduleId, job: JobId) -> sqlx::Result<()> {
    sqlx::query!(
        "with clock as (
             select greatest(clock_timestamp(), date_trunc('second', clock_timestamp()) + interval '1 microsecond') as now
         )
         insert into schedule_run (schedule_id, scheduled_for, due_at, is_manual, status, job_id, is_open)
         select $1, now, now, true, 'started', $2, true from clock",
        schedule.0,
        job.0,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lists the unfinished jobs of a schedule.
pub async fn list_open_jobs(
    db: impl PgExecutor<'_>,
    schedule: ScheduleId,
) -> sqlx::Result<Vec<JobId>> {
    sqlx::query_scalar!(
        r#"select run.job_id as "job_id: JobId"
           from schedule_run
           join run on run.job_id = schedule_run.job_id
           where schedule_run.schedule_id = $1 and schedule_run.is_open"#,
        schedule.0,
    )
    .fetch_all(db)
    .await
}

/// Skips a run that was not started.
pub async fn skip(
    db: impl PgExecutor<'_>,
    run: &ClaimedRun,
    reason: SkipReason,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update schedule_run set status = 'skipped', reason = $3, updated_at = now()
         where schedule_id = $1 and scheduled_for = $2 and status = 'pending'",
        run.schedule.0,
        run.scheduled_for,
        reason as SkipReason,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Marks a run as failed because its job cannot be created.
pub async fn fail(
    db: impl PgExecutor<'_>,
    run: &ClaimedRun,
    error: &impl serde::Serialize,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update schedule_run set status = 'failed', error = $3, updated_at = now()
         where schedule_id = $1 and scheduled_for = $2 and status = 'pending'",
        run.schedule.0,
        run.scheduled_for,
        stored(error) as JsonText,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Releases a claimed run. After an error it is retried when the claim expires, otherwise as soon as it can start.
pub async fn release(
    db: impl PgExecutor<'_>,
    run: &ClaimedRun,
    met_error: bool,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update schedule_run set
             attempts = attempts + case when $3 then 1 else 0 end,
             claimed_at = case when $3 then claimed_at end
         where schedule_id = $1 and scheduled_for = $2 and status = 'pending'",
        run.schedule.0,
        run.scheduled_for,
        met_error,
    )
    .execute(db)
    .await?;
    Ok(())
}
