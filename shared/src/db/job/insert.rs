//! Insertion of accepted jobs, in one statement for any number of jobs.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use uuid::Uuid;

use crate::db::conversation::TakenPosition;
use crate::db::followed_job::FOLLOWED_FOR;
use crate::db::{FEED_CHANNEL, JsonText};
use crate::event::{EventData, EventKind, JobQueued};
use crate::id::{JobId, ScheduleId, TenantId};
use crate::job::{Job, JobRequest, JobResult, Status, Target, preview};
use crate::model_name::ModelName;

/// A job to insert.
pub struct NewJobRow {
    /// The id of the job.
    pub id: JobId,
    /// The tenant.
    pub tenant: TenantId,
    /// The skill or agent.
    pub target: Target,
    /// The title in lists.
    pub title: String,
    /// The client's own reference.
    pub external_id: Option<String>,
    /// The model.
    pub model: ModelName,
    /// The position in a conversation, assigned by `db::conversation::join` in the same transaction.
    pub position: Option<TakenPosition>,
    /// The version of the skill, if the tenant uploaded it.
    pub skill_version: Option<i32>,
    /// The SHA-256 of the skill in hexadecimal, or `None` for a job of an agent.
    pub skill_digest: Option<String>,
    /// The requirements for a worker, in addition to the name of the skill.
    pub needs: Needs,
    /// The rest of the request.
    pub request: JobRequest,
    /// Data that the client attached.
    pub metadata: Map<String, Value>,
    /// The job that this job retries.
    pub retry_of: Option<JobId>,
    /// The schedule that creates it.
    pub schedule: Option<ScheduleId>,
    /// The earliest start. `None` or a past time means now, so that an early time does not raise the priority.
    pub run_at: Option<DateTime<Utc>>,
    /// The SHA-256 of the request in hexadecimal.
    pub digest: String,
    /// Whether the job is followed from its creation on.
    pub is_followed: bool,
}

/// Requirements of a job for its worker.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Programs that an uploaded skill needs; `|` separates alternatives.
    pub programs: Option<Vec<String>>,
    /// Whether the commands of an uploaded skill or an agent need network access.
    pub network: bool,
}

/// Inserts all accepted jobs or none: requests, runs and the first events of their logs. Returns the time of the
/// insertion. `counted` is the result of `db::submit_limit::take` in the same transaction.
///
/// The statement reads other tables only in functions. Otherwise a new plan for each batch size would take longer than
/// the statement.
///
/// If the clock that created an id is far from the database's clock, `is_clock_skew` is true for the error.
///
/// If the version of a skill was deleted, `db::skill::is_version_in_use` is true for the error.
pub async fn insert(
    db: impl PgExecutor<'_>,
    counted: bool,
    jobs: &[NewJobRow],
) -> sqlx::Result<DateTime<Utc>> {
    let rows = Rows::of(jobs);
    sqlx::query_scalar!(
        r#"
        with new as materialized (
            select * from unnest(
                $1::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::json[], $8::json[], $9::uuid[], $10::int[], $11::uuid[],
                $12::int[], $13::bool[], $14::int[], $15::text[], $16::timestamptz[], $17::bigint[], $18::bool[], $19::text[],
                $20::json[], $22::text[], $23::text[], $24::text[], $26::uuid[], $27::bool[]
            ) as t (
                tenant_id, id, skill, agent, model, request, metadata, retry_of, agent_version, conversation_id,
                position, is_blocked, skill_version, skill_digest, run_at, head_start, needs_network, needs,
                queued, title, prompt_preview, external_id, schedule_id, is_followed
            )
            where check_job_ids($3)
        ),
        fed as materialized (
            select tenant from unnest(fed_tenants($1)) as tenant
        ),
        queued as (
            insert into run (job_id, tenant_id, counts_toward_limit, skill, state, run_at, rank, last_seq, needs_network, conversation_id, position, needs, fed, followed_until)
            select
                id, tenant_id, $2, skill,
                case
                    when is_blocked then 'blocked'::run_state
                    when run_at > now() then 'scheduled'
                    else 'ready'
                end,
                greatest(run_at, now()), greatest(run_at, now()) - head_start * interval '1 second', 1, needs_network,
                conversation_id, position, string_to_array(needs, ' '), tenant_id in (select tenant from fed),
                case when is_followed then now() + $28::bigint * interval '1 second' end
            from new
        ),
        logged as (
            insert into job_event (job_id, seq, type, at, attempt, data)
            select id, 1, $21, now(), 0, queued from new
        ),
        milestones as (
            insert into feed (tenant_id, job_id, seq, type, at, status)
            select tenant_id, id, 1, $21, now(), 'queued'
            from new
            join fed on fed.tenant = new.tenant_id
            returning 1
        ),
        notified_feed as (
            select pg_notify($25, '') from milestones limit 1
        ),
        accepted as (
            insert into job (
                id, tenant_id, skill, agent, model, request, metadata, retry_of, created_at, agent_version, conversation_id,
                position, skill_version, skill_digest, title, prompt_preview, external_id, schedule_id
            )
            select
                id, tenant_id, skill, agent, model, request, metadata, retry_of, now(), agent_version, conversation_id,
                position, skill_version, decode(skill_digest, 'hex'), title, prompt_preview, external_id,
                schedule_id
            from new
        )
        select now() as "now!" from (select) as one left join notified_feed on true
        "#,
        &rows.tenants,
        counted,
        &rows.ids,
        &rows.skills as &[Option<&str>],
        &rows.agents as &[Option<&str>],
        &rows.models,
        &rows.requests as &[JsonText],
        &rows.metadata as &[JsonText],
        &rows.retries_of as &[Option<Uuid>],
        &rows.agent_versions as &[Option<i32>],
        &rows.conversations as &[Option<Uuid>],
        &rows.positions as &[Option<i32>],
        &rows.are_blocked,
        &rows.skill_versions as &[Option<i32>],
        &rows.skill_digests as &[Option<&str>],
        &rows.run_at as &[Option<DateTime<Utc>>],
        &rows.head_starts,
        &rows.need_network,
        &rows.needs as &[Option<String>],
        &rows.queued as &[JsonText],
        EventKind::JobQueued.as_str(),
        &rows.titles as &[&str],
        &rows.previews,
        &rows.external_ids as &[Option<&str>],
        FEED_CHANNEL,
        &rows.schedules as &[Option<Uuid>],
        &rows.are_followed,
        FOLLOWED_FOR.as_secs().cast_signed(),
    )
    .fetch_one(db)
    .await
}

/// Whether jobs were rejected because the clock that created an id is far from the database's clock.
pub fn is_clock_skew(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    error.is_some_and(|error| error.constraint() == Some("job_id_time"))
}

impl NewJobRow {
    fn names(&self) -> (Option<&str>, Option<&str>) {
        match &self.target {
            Target::Skill(name) => (Some(name), None),
            Target::Agent(name) => (None, Some(name)),
        }
    }

    fn agent_version(&self) -> Option<i32> {
        self.request.agent.as_ref().map(|agent| agent.version)
    }

    /// Returns the job after its insertion.
    pub fn accepted(self, created_at: DateTime<Utc>) -> Job {
        let agent_version = self.agent_version();
        let (skill, agent) = match self.target {
            Target::Skill(name) => (Some(name), None),
            Target::Agent(name) => (None, Some(name)),
        };
        Job {
            id: self.id,
            status: Status::Queued,
            title: self.title,
            prompt_preview: preview::preview(&self.request.prompt),
            external_id: self.external_id,
            skill,
            skill_version: self.skill_version,
            skill_digest: self.skill_digest,
            agent,
            agent_version,
            conversation_id: self.position.map(|it| it.position.conversation),
            model: self.model,
            attempt: 0,
            retry_of: self.retry_of,
            schedule_id: self.schedule,
            created_at,
            started_at: None,
            finished_at: None,
            queued_ms: None,
            duration_ms: None,
            result: JobResult::default(),
            metadata: self.metadata,
            queue: None,
        }
    }
}

/// One row per job, as arrays for the statement.
#[derive(Default)]
struct Rows<'a> {
    tenants: Vec<Uuid>,
    ids: Vec<Uuid>,
    skills: Vec<Option<&'a str>>,
    agents: Vec<Option<&'a str>>,
    models: Vec<String>,
    requests: Vec<JsonText>,
    metadata: Vec<JsonText>,
    retries_of: Vec<Option<Uuid>>,
    agent_versions: Vec<Option<i32>>,
    conversations: Vec<Option<Uuid>>,
    positions: Vec<Option<i32>>,
    are_blocked: Vec<bool>,
    skill_versions: Vec<Option<i32>>,
    skill_digests: Vec<Option<&'a str>>,
    run_at: Vec<Option<DateTime<Utc>>>,
    head_starts: Vec<i64>,
    need_network: Vec<bool>,
    /// Joined with spaces, because an array of arrays needs the same length in all rows.
    needs: Vec<Option<String>>,
    queued: Vec<JsonText>,
    titles: Vec<&'a str>,
    previews: Vec<String>,
    external_ids: Vec<Option<&'a str>>,
    schedules: Vec<Option<Uuid>>,
    are_followed: Vec<bool>,
}

impl<'a> Rows<'a> {
    fn of(jobs: &'a [NewJobRow]) -> Self {
        let mut rows = Self::default();
        for job in jobs {
            let (skill, agent) = job.names();
            let digest = job.digest.clone();
            let (_, queued) = EventData::JobQueued(JobQueued { digest }).to_stored();
            rows.tenants.push(job.tenant.0);
            rows.ids.push(job.id.0);
            rows.skills.push(skill);
            rows.agents.push(agent);
            rows.models.push(job.model.to_string());
            rows.requests.push(JsonText::of(&job.request));
            rows.metadata.push(JsonText::of(&job.metadata));
            rows.retries_of.push(job.retry_of.map(|id| id.0));
            rows.agent_versions.push(job.agent_version());
            let position = job.position;
            rows.conversations
                .push(position.map(|it| it.position.conversation.0));
            rows.positions.push(position.map(|it| it.position.position));
            rows.are_blocked
                .push(position.is_some_and(|it| it.is_blocked));
            rows.skill_versions.push(job.skill_version);
            rows.skill_digests.push(job.skill_digest.as_deref());
            rows.run_at.push(job.run_at);
            let head_start = job.request.priority.head_start();
            rows.head_starts.push(head_start.num_seconds());
            rows.need_network.push(job.needs.network);
            rows.needs
                .push(job.needs.programs.as_ref().map(|all| all.join(" ")));
            rows.queued.push(JsonText(queued));
            rows.titles.push(&job.title);
            rows.previews.push(preview::preview(&job.request.prompt));
            rows.external_ids.push(job.external_id.as_deref());
            rows.schedules.push(job.schedule.map(|id| id.0));
            rows.are_followed.push(job.is_followed);
        }
        rows
    }
}
