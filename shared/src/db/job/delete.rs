//! Deletion of finished jobs.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::types::Json;
use uuid::Uuid;

use super::super::{Connection, Pool, usage};
use crate::id::{AssetId, JobId, TenantId};
use crate::stored::read_or_else;

/// A job that is about to be deleted.
pub struct EndedJob {
    /// The name of the skill, if the job uses a version of a skill that the tenant uploaded.
    pub own_skill: Option<String>,
}

/// Locks one of the tenant's jobs if it has ended. Returns `None` if it does not exist or has not ended.
pub async fn lock_ended(
    db: &mut Connection,
    tenant: TenantId,
    id: JobId,
) -> sqlx::Result<Option<EndedJob>> {
    sqlx::query_as!(
        EndedJob,
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

/// Locks up to `limit` jobs after `after` that ended before `cutoff`, in the order of their creation.
///
/// Skips jobs of conversations with a job that is unfinished or ended after `cutoff`. Also skips jobs with a file that
/// was used after `cutoff` or is one of `inputs`, the inputs of unfinished jobs.
pub async fn lock_old(
    db: &mut Connection,
    cutoff: DateTime<Utc>,
    inputs: &[AssetId],
    after: JobId,
    limit: i64,
) -> sqlx::Result<Vec<JobId>> {
    let inputs: Vec<_> = inputs.iter().map(|id| id.0).collect();
    // The id may have been created by a machine with another clock.
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
                         order by position desc
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

/// Lists the locked jobs with a file that a new job has used since `cutoff`. The files of the other jobs stay locked,
/// so that no job uses them before they are deleted.
pub async fn list_used_since(
    db: &mut Connection,
    cutoff: DateTime<Utc>,
    jobs: &[JobId],
) -> sqlx::Result<Vec<JobId>> {
    let jobs: Vec<_> = jobs.iter().map(|job| job.0).collect();
    // Rows are locked in the same order everywhere, to avoid deadlocks.
    sqlx::query_scalar!(
        r#"with held as materialized (
               select job_id, used_at from asset where job_id = any($1) order by id for update
           )
           select distinct job_id as "job_id!: JobId" from held where used_at >= $2"#,
        &jobs,
        cutoff,
    )
    .fetch_all(db)
    .await
}

/// Deletes locked jobs with everything that belongs to them except their logs. Returns the hashes of their files, for
/// `db::blob::release` after the commit.
pub async fn delete(db: &mut Connection, jobs: &[JobId]) -> sqlx::Result<Vec<String>> {
    // The usage of the jobs is kept.
    usage::count_jobs(db, jobs).await?;
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
           ),
           gone_assets as (
               delete from asset where job_id = any($1) returning id, sha256
           )
           select encode(sha256, 'hex') as "sha256!" from gone_assets
           union
           select encode(file.sha256, 'hex') from gone_assets join preview_file as file on file.asset_id = gone_assets.id"#,
        &jobs,
    )
    .fetch_all(db)
    .await
}

/// Lists the inputs of unfinished jobs from before `cutoff`.
pub async fn list_old_inputs(db: &Pool, cutoff: DateTime<Utc>) -> sqlx::Result<Vec<AssetId>> {
    let mut assets = Vec::new();
    let mut last = Some(Uuid::nil());
    while let Some(after) = last {
        // In pages, because a request may be large.
        let rows = sqlx::query!(
            r#"select job.id, job.request as "request: Json<Box<RawValue>>"
               from run
               join job on job.id = run.job_id
               where run.job_id > $2 and run.job_id < first_job_id($1::timestamptz + interval '1 day')
               order by run.job_id
               limit 100"#,
            cutoff,
            after,
        )
        .fetch_all(db)
        .await?;
        last = rows.last().map(|row| row.id);
        // The JSON is parsed here, because `->` fails for all rows if a text in one of them has a NUL.
        for row in rows {
            let begins = read_or_else("the job's inputs", row.id, &row.request, Begins::default);
            assets.extend(begins.inputs.iter().filter_map(|input| input.id));
        }
    }
    Ok(assets)
}

/// The part of a request that names assets, in the format of every release.
#[derive(Default, Deserialize)]
struct Begins {
    inputs: Vec<RequestInput>,
}

#[derive(Deserialize)]
struct RequestInput {
    #[serde(default)]
    id: Option<AssetId>,
}
