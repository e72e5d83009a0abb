//! Jobs: what was asked for and what came of it.

mod delete;
mod insert;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use sqlx::types::Json;

use crate::id::{ConversationId, JobId, TenantId};
use crate::job::{Job, JobRequest, JobResult, Outcome, Status};

pub use delete::{Ended, delete, list_old_inputs, lock_ended, lock_old};
pub use insert::{Needs, NewJob, insert, is_of_another_time};

/// Jobs as they stand, of a tenant and as the rest of the statement says.
macro_rules! select_jobs {
    ($rest:literal, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            Row,
            r#"
            select
                job.id, job.skill, job.skill_version, encode(coalesce(job_end.skill_digest, job.skill_digest), 'hex') as skill_digest, job.agent, job.agent_version, job.conversation_id, job.model, job.retry_of, job.created_at,
                coalesce(job_end.started_at, run.started_at) as started_at,
                job_end.finished_at as "finished_at?",
                job.metadata as "metadata: Json<Map<String, Value>>",
                job_end.result as "result?: Json<JobResult>",
                job_end.outcome as "outcome?: Outcome",
                run.state::text as run_state,
                coalesce(run.attempt, (
                    select attempt from job_event where job_event.job_id = job.id order by seq desc limit 1
                ), 0) as "attempt!"
            from job
            left join run on run.job_id = job.id
            left join job_end on job_end.job_id = job.id
            "# + $rest,
            $($argument),+
        )
    };
}

/// One of the tenant's jobs.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: JobId,
) -> sqlx::Result<Option<Job>> {
    // Not by `list_by_id`: for one job an index is best in any plan, also in one that is kept from when there were few.
    let row = select_jobs!("where job.tenant_id = $1 and job.id = $2", tenant.0, id.0)
        .fetch_optional(db)
        .await?;
    row.map(Job::try_from).transpose()
}

/// The tenant's jobs among `ids`, in the order in which they were made.
pub async fn list_by_id(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    ids: &[JobId],
) -> sqlx::Result<Vec<Job>> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = select_jobs!(
        "where job.tenant_id = $1 and job.id = any($2) order by job.id",
        tenant.0,
        &ids
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Job::try_from).collect()
}

/// Which jobs to list.
#[derive(Default)]
pub struct Filter {
    /// In this state.
    pub status: Option<Status>,
    /// Of this skill.
    pub skill: Option<String>,
    /// Of this agent.
    pub agent: Option<String>,
    /// Of this conversation.
    pub conversation: Option<ConversationId>,
}

/// The tenant's jobs before `before`, the newest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    filter: &Filter,
    before: Option<JobId>,
    limit: i64,
) -> sqlx::Result<Vec<Job>> {
    let rows = select_jobs!(
        r#"
        where job.tenant_id = $1
          and ($2::uuid is null or job.id < $2)
          and ($3::text is null or job.skill = $3)
          and ($4::text is null or job.agent = $4)
          and ($5::text is null or $5 = coalesce(
              job_end.outcome::text,
              case run.state when 'running' then 'running' when 'waiting' then 'waiting' else 'queued' end
          ))
          and ($6::uuid is null or job.conversation_id = $6)
        order by job.id desc
        limit $7
        "#,
        tenant.0,
        before.map(|id| id.0),
        filter.skill,
        filter.agent,
        filter.status.map(Status::as_str),
        filter.conversation.map(|id| id.0),
        limit,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Job::try_from).collect()
}

/// What the tenant asked for with that job.
pub async fn get_request(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: JobId,
) -> sqlx::Result<Option<JobRequest>> {
    let request = sqlx::query_scalar!(
        r#"select request as "request: Json<JobRequest>" from job where tenant_id = $1 and id = $2"#,
        tenant.0,
        id.0,
    )
    .fetch_optional(db)
    .await?;
    Ok(request.map(|Json(request)| request))
}

/// Those of the jobs whose saved workspace someone may still need: they have not ended, or the next job of
/// their conversation begins with it.
pub async fn list_with_workspace(
    db: impl PgExecutor<'_>,
    jobs: &[JobId],
) -> sqlx::Result<Vec<JobId>> {
    let jobs: Vec<_> = jobs.iter().map(|job| job.0).collect();
    let found = sqlx::query_scalar!(
        "select id from job
         where id = any($1)
           and (
               not exists (select from job_end where job_end.job_id = job.id)
               or conversation_id is not null and not exists (
                   select from job as later
                   join job_event as event on event.job_id = later.id and event.type = 'workspace.saved'
                   where later.conversation_id = job.conversation_id and later.place > job.place
               )
           )",
        &jobs,
    )
    .fetch_all(db)
    .await?;
    Ok(found.into_iter().map(JobId).collect())
}

struct Row {
    id: uuid::Uuid,
    skill: Option<String>,
    skill_version: Option<i32>,
    skill_digest: Option<String>,
    agent: Option<String>,
    agent_version: Option<i32>,
    conversation_id: Option<uuid::Uuid>,
    model: String,
    retry_of: Option<uuid::Uuid>,
    created_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    metadata: Json<Map<String, Value>>,
    result: Option<Json<JobResult>>,
    outcome: Option<Outcome>,
    run_state: Option<String>,
    attempt: i32,
}

impl TryFrom<Row> for Job {
    type Error = sqlx::Error;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let status = match (row.outcome, row.run_state.as_deref()) {
            (Some(outcome), _) => outcome.into(),
            (None, Some("running")) => Status::Running,
            (None, Some("waiting")) => Status::Waiting,
            (None, _) => Status::Queued,
        };
        Ok(Self {
            id: JobId(row.id),
            status,
            skill: row.skill,
            skill_version: row.skill_version,
            skill_digest: row.skill_digest,
            agent: row.agent,
            agent_version: row.agent_version,
            conversation_id: row.conversation_id.map(ConversationId),
            model: row
                .model
                .parse()
                .map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
            attempt: row.attempt,
            retry_of: row.retry_of.map(JobId),
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
            result: row.result.map(|Json(result)| result).unwrap_or_default(),
            metadata: row.metadata.0,
            queue: None,
        })
    }
}
