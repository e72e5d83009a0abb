//! Jobs: requests and results.

mod delete;
mod insert;
mod update;

use chrono::{DateTime, Utc};
use serde_json::Map;
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use sqlx::types::Json;

use crate::id::{ConversationId, JobId, ScheduleId, TenantId};
use crate::job::{Job, JobRequest, JobResult, Outcome, Status, with_durations};
use crate::model_name::ModelName;
use crate::stored::{UnreadableRow, read, read_or_else};

pub use delete::{EndedJob, delete, list_old_inputs, list_used_since, lock_ended, lock_old};
pub use insert::{Needs, NewJobRow, insert, is_clock_skew};
pub use update::{JobChange, set_model, update_metadata, update_queued};

/// Selects jobs with their current state. `$rest` is the rest of the statement.
macro_rules! select_jobs {
    ($rest:literal $(+ $more:literal)*, $($argument:expr),+ $(,)?) => {
        sqlx::query_as!(
            JobRow,
            r#"
            select
                job.id, job.title, job.prompt_preview, job.external_id, job.skill, job.skill_version, encode(coalesce(job_end.skill_digest, job.skill_digest), 'hex') as skill_digest, job.agent, job.agent_version, job.conversation_id, job.model, job.retry_of, job.schedule_id, job.created_at,
                coalesce(job_end.started_at, run.started_at) as started_at,
                job_end.finished_at as "finished_at?",
                job.metadata as "metadata: Json<Box<RawValue>>",
                job_end.result as "result?: Json<Box<RawValue>>",
                job_end.outcome as "outcome?: Outcome",
                run.state::text as run_state,
                coalesce(run.attempt, (
                    select attempt from job_event where job_event.job_id = job.id order by seq desc limit 1
                ), 0) as "attempt!"
            from job
            left join run on run.job_id = job.id
            left join job_end on job_end.job_id = job.id
            "# + $rest $(+ $more)*,
            $($argument),+
        )
    };
}

mod list;

pub use list::{JobFilter, count, list};

/// Returns one of the tenant's jobs.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: JobId,
) -> sqlx::Result<Option<Job>> {
    // This does not use `list_by_id`: for one id every plan uses the index, even one cached while the table was small.
    let row = select_jobs!("where job.tenant_id = $1 and job.id = $2", tenant.0, id.0)
        .fetch_optional(db)
        .await?;
    Ok(row.map(Job::from))
}

/// Lists the tenant's jobs among `ids`, in the order of their creation.
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
    Ok(rows.into_iter().map(Job::from).collect())
}

/// Returns the request of a job. The inner result is an error if this release cannot read the request.
pub async fn get_request(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: JobId,
) -> sqlx::Result<Option<Result<JobRequest, UnreadableRow>>> {
    let request = sqlx::query_scalar!(
        r#"select request as "request: Json<Box<RawValue>>" from job where tenant_id = $1 and id = $2"#,
        tenant.0,
        id.0,
    )
    .fetch_optional(db)
    .await?;
    Ok(request.map(|request| read("the job's request", &request)))
}

/// Lists the jobs whose saved workspace may still be needed: they have not ended, or the next job of their
/// conversation starts with it.
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
                   where later.conversation_id = job.conversation_id and later.position > job.position
               )
           )",
        &jobs,
    )
    .fetch_all(db)
    .await?;
    Ok(found.into_iter().map(JobId).collect())
}

struct JobRow {
    id: uuid::Uuid,
    title: String,
    prompt_preview: String,
    external_id: Option<String>,
    skill: Option<String>,
    skill_version: Option<i32>,
    skill_digest: Option<String>,
    agent: Option<String>,
    agent_version: Option<i32>,
    conversation_id: Option<uuid::Uuid>,
    model: String,
    retry_of: Option<uuid::Uuid>,
    schedule_id: Option<uuid::Uuid>,
    created_at: DateTime<Utc>,
    started_at: Option<DateTime<Utc>>,
    finished_at: Option<DateTime<Utc>>,
    metadata: Json<Box<RawValue>>,
    result: Option<Json<Box<RawValue>>>,
    outcome: Option<Outcome>,
    run_state: Option<String>,
    attempt: i32,
}

/// The warning in place of a result that another release wrote.
const UNREADABLE_RESULT: &str = "this release of the service cannot read the result of this job, which another release \
                                 wrote; the job's log has it";

impl From<JobRow> for Job {
    /// Replaces unreadable data with defaults, so that a list still shows the job.
    fn from(row: JobRow) -> Self {
        let status = match (row.outcome, row.run_state.as_deref()) {
            (Some(outcome), _) => outcome.into(),
            (None, Some("running")) => Status::Running,
            (None, Some("waiting")) => Status::Waiting,
            (None, _) => Status::Queued,
        };
        let unreadable = || JobResult {
            warnings: vec![UNREADABLE_RESULT.to_owned()],
            ..JobResult::default()
        };
        let result = row.result.as_deref();
        let result = result.map(|it| read_or_else("the job's result", row.id, it, unreadable));
        with_durations(Self {
            id: JobId(row.id),
            status,
            title: row.title,
            prompt_preview: row.prompt_preview,
            external_id: row.external_id,
            skill: row.skill,
            skill_version: row.skill_version,
            skill_digest: row.skill_digest,
            agent: row.agent,
            agent_version: row.agent_version,
            conversation_id: row.conversation_id.map(ConversationId),
            model: ModelName::from_stored(row.model),
            attempt: row.attempt,
            retry_of: row.retry_of.map(JobId),
            schedule_id: row.schedule_id.map(ScheduleId),
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: row.finished_at,
            queued_ms: None,
            duration_ms: None,
            result: result.unwrap_or_default(),
            metadata: read_or_else("the job's metadata", row.id, &row.metadata, Map::new),
            queue: None,
        })
    }
}
