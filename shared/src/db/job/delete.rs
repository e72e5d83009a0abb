//! Removing jobs that have ended.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::super::Connection;
use crate::id::{AssetId, JobId, TenantId};

/// A job that is about to be removed.
pub struct Ended {
    /// Of which skill of the tenant's own it has a version, if any.
    pub own_skill: Option<String>,
}

/// Locks one of the tenant's jobs if it has ended; `None` if there is none that has.
pub async fn lock_ended(
    db: &mut Connection,
    tenant: TenantId,
    id: JobId,
) -> sqlx::Result<Option<Ended>> {
    sqlx::query_as!(
        Ended,
        "select case when skill_version is not null then skill end as own_skill
         from job
         where tenant_id = $1 and id = $2 and exists (select from job_end where job_id = job.id)
         for update",
        tenant.0,
        id.0,
    )
    .fetch_optional(db)
    .await
}

/// Locks up to `limit` jobs after `after` that ended before `cutoff`, in the order in which they were made.
///
/// Left out are those of conversations that went on later, those of which a later job has taken a file, and those
/// that have one of the `inputs` of jobs that have not ended.
pub async fn lock_old(
    db: &mut Connection,
    cutoff: DateTime<Utc>,
    inputs: &[AssetId],
    after: JobId,
    limit: i64,
) -> sqlx::Result<Vec<JobId>> {
    let inputs: Vec<_> = inputs.iter().map(|id| id.0).collect();
    // Who made the id may have had another clock.
    sqlx::query_scalar!(
        r#"select id as "id: JobId"
           from job
           join job_end on job_end.job_id = job.id
           where id > $1 and id < first_job_id($2::timestamptz + interval '1 day') and job_end.finished_at < $2
             and (
                 conversation_id is null
                 or not exists (select from run where run.conversation_id = job.conversation_id)
                     and $2 > (
                         select latest_end.finished_at
                         from job as latest
                         join job_end as latest_end on latest_end.job_id = latest.id
                         where latest.conversation_id = job.conversation_id
                         order by place desc
                         limit 1
                     )
             )
             and not exists (
                 select from asset
                 where asset.job_id = job.id and (asset.used_at >= $2 or asset.id = any($3))
             )
           order by id
           limit $4
           for update of job skip locked"#,
        after.0,
        cutoff,
        &inputs,
        limit,
    )
    .fetch_all(db)
    .await
}

/// Removes jobs that the caller has locked, with all that is theirs but their logs. Returns the hashes of their files,
/// for `db::asset::release_blob` when this is committed.
pub async fn delete(db: &mut Connection, jobs: &[JobId]) -> sqlx::Result<Vec<String>> {
    let jobs: Vec<_> = jobs.iter().map(|job| job.0).collect();
    sqlx::query_scalar!(
        r#"with gone as (
               delete from job where id = any($1)
           ),
           gone_with_it as (
               delete from job_end where job_id = any($1)
           ),
           unanswered as (
               delete from approval where job_id = any($1)
           ),
           -- Sent again, its request makes a new job. That of a batch would make all of them again.
           unkeyed as (
               delete from idempotency_key where job_id = any($1) and job_ids is null
           )
           delete from asset where job_id = any($1) returning encode(sha256, 'hex') as "sha256!""#,
        &jobs,
    )
    .fetch_all(db)
    .await
}

/// The assets that unfinished jobs from before `cutoff` begin with.
pub async fn list_old_inputs(
    db: impl PgExecutor<'_>,
    cutoff: DateTime<Utc>,
) -> sqlx::Result<Vec<AssetId>> {
    sqlx::query_scalar!(
        r#"select (input->>'id')::uuid as "id!: AssetId"
           from run
           join job on job.id = run.job_id
           cross join json_array_elements(job.request->'inputs') as input
           where run.job_id < first_job_id($1::timestamptz + interval '1 day') and input->>'id' is not null"#,
        cutoff,
    )
    .fetch_all(db)
    .await
}
