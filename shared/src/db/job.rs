//! Jobs: what was asked for and what came of it.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use sqlx::types::Json;

use crate::conversation::Seat;
use crate::event::{EventData, JobQueued};
use crate::id::{ConversationId, JobId, TenantId};
use crate::job::{Job, JobRequest, JobResult, Outcome, Status, Target};
use crate::model_name::ModelName;
use crate::skill::Network;

/// A job about to be accepted.
pub struct NewJob {
    /// Its identifier.
    pub id: JobId,
    /// Whose it is.
    pub tenant: TenantId,
    /// What it runs.
    pub target: Target,
    /// The model that does the thinking.
    pub model: ModelName,
    /// Its place in a conversation, given by `db::conversation::join` in the same transaction.
    pub seat: Option<Seat>,
    /// Which version of the skill, if the tenant uploaded it.
    pub skill_version: Option<i32>,
    /// SHA-256 of the skill, hexadecimal; none for an agent's job.
    pub skill_digest: Option<String>,
    /// The rest of what was asked for.
    pub request: JobRequest,
    /// What the client attached.
    pub metadata: Map<String, Value>,
    /// The job of which this is a retry.
    pub retry_of: Option<JobId>,
    /// The earliest start; now if `None` or past, so that an early date is no priority.
    pub run_at: Option<DateTime<Utc>>,
    /// SHA-256 of the request, hexadecimal.
    pub digest: String,
}

/// Accepts a job: the request, its place in the queue and the first entry of its log, in one statement. Where the
/// version of its skill is gone, the error is one of which `db::skill::is_held` holds.
pub async fn insert(db: impl PgExecutor<'_>, new: &NewJob) -> sqlx::Result<Job> {
    let (skill, agent) = match &new.target {
        Target::Skill(name) => (Some(name.as_str()), None),
        Target::Agent(name) => (None, Some(name.as_str())),
    };
    let (kind, data) = EventData::JobQueued(JobQueued {
        digest: new.digest.clone(),
    })
    .to_stored();
    let network = new
        .request
        .agent
        .as_ref()
        .map(|agent| &agent.settings.network);
    let needs_network = network.is_some_and(|network| *network != Network::None);
    let head_start = new.request.priority.head_start();
    // As text: on its way through `jsonb` it would lose its order, and could have no NUL.
    let request = serde_json::to_string(&new.request).expect("requests have string keys");
    let metadata = serde_json::to_string(&new.metadata).expect("it came as JSON");
    let row = sqlx::query!(
        r#"
        with own as (
            select needs, needs_network from skill_version where tenant_id = $2 and name = $3 and version = $17
        ),
        queued as (
            insert into run (job_id, tenant_id, skill, state, run_at, rank, last_seq, needs_network, conversation_id, place, needs)
            values (
                $1, $2, $3,
                case
                    when $15::uuid is not null and exists (select from run where conversation_id = $15) then 'blocked'::run_state
                    when $4::timestamptz > now() then 'scheduled'
                    else 'ready'
                end,
                greatest($4, now()), greatest($4, now()) - $5::bigint * interval '1 second', 1,
                $14 or coalesce((select needs_network from own), false), $15, $16, (select needs from own)
            )
        ),
        logged as (
            insert into job_event (job_id, seq, type, at, attempt, data)
            values ($1, 1, $6, now(), 0, $7::text::json)
        )
        insert into job (id, tenant_id, skill, agent, model, request, metadata, retry_of, created_at, agent_version, conversation_id, place, skill_version, skill_digest)
        values ($1, $2, $3, $8, $9, $10::text::json, $11::text::json, $12, now(), $13, $15, $16, $17, decode($18, 'hex'))
        returning created_at
        "#,
        new.id.0,
        new.tenant.0,
        skill,
        new.run_at,
        head_start.num_seconds(),
        kind,
        data,
        agent,
        new.model.to_string(),
        request,
        metadata,
        new.retry_of.map(|id| id.0),
        new.request.agent.as_ref().map(|agent| agent.version),
        needs_network,
        new.seat.map(|seat| seat.conversation.0),
        new.seat.map(|seat| seat.place),
        new.skill_version,
        new.skill_digest,
    )
    .fetch_one(db)
    .await?;
    Ok(Job {
        id: new.id,
        status: Status::Queued,
        skill: skill.map(str::to_owned),
        skill_version: new.skill_version,
        skill_digest: new.skill_digest.clone(),
        agent: agent.map(str::to_owned),
        agent_version: new.request.agent.as_ref().map(|agent| agent.version),
        conversation_id: new.seat.map(|seat| seat.conversation),
        model: new.model.clone(),
        attempt: 0,
        retry_of: new.retry_of,
        created_at: row.created_at,
        started_at: None,
        finished_at: None,
        result: JobResult::default(),
        metadata: new.metadata.clone(),
        queue: None,
    })
}

/// One of the tenant's jobs.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: JobId,
) -> sqlx::Result<Option<Job>> {
    let filter = Filter {
        id: Some(id),
        ..Filter::default()
    };
    Ok(list(db, tenant, &filter, None, 1).await?.pop())
}

/// Which jobs to list.
#[derive(Default)]
pub struct Filter {
    /// This one only.
    pub id: Option<JobId>,
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
    let rows = sqlx::query_as!(
        Row,
        r#"
        select
            job.id, job.skill, job.skill_version, encode(job.skill_digest, 'hex') as skill_digest, job.agent, job.agent_version, job.conversation_id, job.model, job.retry_of, job.created_at,
            coalesce(job.started_at, run.started_at) as started_at,
            job.finished_at,
            job.metadata as "metadata: Json<Map<String, Value>>",
            job.result as "result: Json<JobResult>",
            job.outcome as "outcome: Outcome",
            run.state::text as run_state,
            coalesce(run.attempt, (
                select attempt from job_event where job_event.job_id = job.id order by seq desc limit 1
            ), 0) as "attempt!"
        from job
        left join run on run.job_id = job.id
        where job.tenant_id = $1
          and ($2::uuid is null or job.id = $2)
          and ($3::uuid is null or job.id < $3)
          and ($4::text is null or job.skill = $4)
          and ($5::text is null or job.agent = $5)
          and ($6::text is null or $6 = coalesce(
              job.outcome::text,
              case run.state when 'running' then 'running' when 'waiting' then 'waiting' else 'queued' end
          ))
          and ($8::uuid is null or job.conversation_id = $8)
        order by job.id desc
        limit $7
        "#,
        tenant.0,
        filter.id.map(|id| id.0),
        before.map(|id| id.0),
        filter.skill,
        filter.agent,
        filter.status.map(Status::as_str),
        limit,
        filter.conversation.map(|id| id.0),
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
               outcome is null
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

/// A job that was removed.
pub struct Deleted {
    /// Of which skill of the tenant's own it had a version, if any.
    pub own_skill: Option<String>,
}

/// Removes one of the tenant's jobs if it has ended; `None` if there is none that has.
pub async fn delete_finished(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: JobId,
) -> sqlx::Result<Option<Deleted>> {
    sqlx::query_as!(
        Deleted,
        "delete from job
         where tenant_id = $1 and id = $2 and outcome is not null
         returning case when skill_version is not null then skill end as own_skill",
        tenant.0,
        id.0,
    )
    .fetch_optional(db)
    .await
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
