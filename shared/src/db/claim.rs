//! Claiming jobs from the queue.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use sqlx::types::Json;
use uuid::Uuid;

use super::log::Lease;
use crate::conversation::ConversationPosition;
use crate::id::{ConversationId, JobId, ScheduleId, TenantId, WorkerId};
use crate::job::{Job, JobRequest, JobResult, Status, with_durations};
use crate::model_name::ModelName;
use crate::stored::{UnreadableRow, read, read_or_else};

/// A claimed job.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The lease of the claim.
    pub lease: Lease,
    /// The tenant.
    pub tenant: TenantId,
    /// The current job.
    pub job: Job,
    /// The request.
    pub request: JobRequest,
    /// The position in a conversation.
    pub position: Option<ConversationPosition>,
    /// The sequence number of the last event in the log.
    pub last_seq: i64,
    /// Whether cancellation was requested before the claim.
    pub cancel_requested: bool,
    /// The number of attempts that ended with an internal error.
    pub failures: i16,
    /// The number of attempts that ended with an outage of the model provider.
    pub model_outages: i16,
    /// The number of attempts by workers whose release could not read the job.
    pub unreadable: i16,
    /// The time from which the job could start.
    pub due_at: DateTime<Utc>,
    /// The time of the claim by the database's clock.
    pub claimed_at: DateTime<Utc>,
    /// The total running time of earlier attempts.
    pub spent: Duration,
    /// The seconds of running time charged to the tenant in advance. Zero while no other tenant has jobs.
    pub prepaid: f64,
    /// Whether its tenant has a budget.
    pub has_tenant_budget: bool,
}

/// A claimed job whose request the worker cannot read, because a different release wrote it.
#[derive(Debug)]
pub struct UnreadableJob {
    /// The lease of the claim.
    pub lease: Lease,
    /// The tenant.
    pub tenant: TenantId,
    /// The current job without unreadable values.
    pub job: Job,
    /// The sequence number of the last event in the log.
    pub last_seq: i64,
    /// Whether cancellation was requested before the claim.
    pub cancel_requested: bool,
    /// The number of earlier attempts by workers whose release could not read the job.
    pub unreadable: i16,
    /// The time of the claim by the database's clock.
    pub claimed_at: DateTime<Utc>,
    /// The seconds charged in advance, as in [`Claimed`].
    pub prepaid: f64,
    /// The value that cannot be read.
    pub error: UnreadableRow,
}

/// A claimed job to run, or an unreadable job that the worker must release.
pub type Claim = Result<Claimed, Box<UnreadableJob>>;

/// Claims up to `slots` ready jobs that run an agent or one of the worker's skills. A job of an uploaded skill needs a
/// worker that has the programs of the skill. A job that needs a network needs a worker that has one.
///
/// The tenant with the lowest virtual time goes first, and each claimed job advances that time. Within a tenant, the
/// job with the lowest rank goes first. If several tenants have jobs, a call may return fewer jobs than are available:
/// repeat it until it returns none.
///
/// The order is that of `next_jobs` in `migrations/0004_fair_queue.sql`. `migrations/0003_claim.sql` explains why the
/// statement is a database function.
pub async fn claim(
    db: impl PgExecutor<'_>,
    worker: WorkerId,
    skills: &[String],
    slots: i64,
    has_network: bool,
) -> sqlx::Result<Vec<Claim>> {
    let rows = sqlx::query_as!(
        ClaimRow,
        r#"
        select
            (run).job_id as "job_id!", (run).tenant_id as "tenant_id!", (run).lease as "lease!", (run).attempt as "attempt!",
            (run).last_seq as "last_seq!", (run).cancel_requested as "cancel_requested!", (run).failures as "failures!",
            (run).model_outages as "model_outages!", (run).unreadable as "unreadable!", (run).started_at, (run).run_at as "run_at!", (run).claimed_at as "claimed_at!",
            (extract(epoch from (run).spent) * 1000)::bigint as "spent_ms!",
            prepaid as "prepaid!",
            exists (
                select from tenant_budget as budget
                where budget.tenant_id = (run).tenant_id
                  and (budget.max_total_tokens is not null or budget.max_cost is not null)
            ) as "has_tenant_budget!",
            (job).skill, (job).skill_version, encode((job).skill_digest, 'hex') as skill_digest, (job).agent,
            (job).agent_version, (job).conversation_id, (job).position, (job).model as "model!", (job).retry_of, (job).schedule_id,
            (job).created_at as "created_at!",
            (job).request as "request!: Json<Box<RawValue>>",
            (job).metadata as "metadata!: Json<Box<RawValue>>",
            (job).title as "title!", (job).prompt_preview as "prompt_preview!", (job).external_id
        from claim($1, $2, $3, $4)
        "#,
        worker.0,
        skills,
        slots,
        has_network,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(ClaimRow::read).collect())
}

struct ClaimRow {
    job_id: Uuid,
    tenant_id: Uuid,
    lease: i64,
    attempt: i32,
    last_seq: i64,
    cancel_requested: bool,
    failures: i16,
    model_outages: i16,
    unreadable: i16,
    started_at: Option<DateTime<Utc>>,
    run_at: DateTime<Utc>,
    claimed_at: DateTime<Utc>,
    spent_ms: i64,
    prepaid: f64,
    has_tenant_budget: bool,
    skill: Option<String>,
    skill_version: Option<i32>,
    skill_digest: Option<String>,
    agent: Option<String>,
    agent_version: Option<i32>,
    conversation_id: Option<Uuid>,
    position: Option<i32>,
    model: String,
    retry_of: Option<Uuid>,
    schedule_id: Option<Uuid>,
    created_at: DateTime<Utc>,
    request: Json<Box<RawValue>>,
    metadata: Json<Box<RawValue>>,
    title: String,
    prompt_preview: String,
    external_id: Option<String>,
}

impl ClaimRow {
    /// Parses one row independently of the others, so that an unreadable row does not affect them.
    fn read(self) -> Claim {
        let request = self.request();
        let lease = Lease {
            job: JobId(self.job_id),
            number: self.lease,
        };
        let conversation = self.conversation_id.map(ConversationId);
        let position = conversation.zip(self.position);
        let job = with_durations(Job {
            id: lease.job,
            status: Status::Running,
            title: self.title,
            prompt_preview: self.prompt_preview,
            external_id: self.external_id,
            skill: self.skill,
            skill_version: self.skill_version,
            skill_digest: self.skill_digest,
            agent: self.agent,
            agent_version: self.agent_version,
            conversation_id: conversation,
            model: ModelName::from_stored(self.model),
            attempt: self.attempt,
            retry_of: self.retry_of.map(JobId),
            schedule_id: self.schedule_id.map(ScheduleId),
            created_at: self.created_at,
            started_at: self.started_at,
            finished_at: None,
            queued_ms: None,
            duration_ms: None,
            result: JobResult::default(),
            metadata: read_or_else(METADATA, lease.job, &self.metadata, Map::new),
            queue: None,
        });
        let request = match request {
            Ok(request) => request,
            Err(error) => {
                return Err(Box::new(UnreadableJob {
                    lease,
                    tenant: TenantId(self.tenant_id),
                    job,
                    last_seq: self.last_seq,
                    cancel_requested: self.cancel_requested,
                    unreadable: self.unreadable,
                    claimed_at: self.claimed_at,
                    prepaid: self.prepaid,
                    error,
                }));
            }
        };
        Ok(Claimed {
            lease,
            tenant: TenantId(self.tenant_id),
            job,
            position: position.map(|(conversation, position)| ConversationPosition {
                conversation,
                position,
            }),
            request,
            last_seq: self.last_seq,
            cancel_requested: self.cancel_requested,
            failures: self.failures,
            model_outages: self.model_outages,
            unreadable: self.unreadable,
            due_at: self.run_at,
            claimed_at: self.claimed_at,
            spent: Duration::from_millis(self.spent_ms.unsigned_abs()),
            prepaid: self.prepaid,
            has_tenant_budget: self.has_tenant_budget,
        })
    }

    /// Parses the request. Fails if the model name, the metadata or the request is unreadable.
    fn request(&self) -> Result<JobRequest, UnreadableRow> {
        let model = self.model.parse::<ModelName>();
        model.map_err(|error| UnreadableRow::new("the name of the job's model", error))?;
        read::<Map<String, Value>>(METADATA, &self.metadata)?;
        read("the job's request", &self.request)
    }
}

const METADATA: &str = "the job's metadata";

/// Makes scheduled jobs ready that are due. Returns their number, up to a limit: repeat it until it returns 0.
pub async fn promote(db: impl PgExecutor<'_>) -> sqlx::Result<u64> {
    let promoted = sqlx::query_scalar!(
        r#"
        with due as (
            update run set state = 'ready'
            where job_id in (
                select job_id from run
                where state = 'scheduled' and run_at <= now()
                order by run_at
                limit 1000
                for update skip locked
            )
            returning tenant_id
        ),
        opened as (
            select mark_lanes_ready(array_agg(distinct tenant_id), null) from due
        )
        select (select count(*) from due) as "count!" from opened
        "#,
    )
    .fetch_one(db)
    .await?;
    Ok(promoted.unsigned_abs())
}
