//! Taking jobs off the queue.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use sqlx::types::Json;
use uuid::Uuid;

use super::log::Lease;
use crate::conversation::Seat;
use crate::id::{ConversationId, JobId, TenantId, WorkerId};
use crate::job::{Job, JobRequest, JobResult, Status};

/// A job in the hands of a worker.
#[derive(Clone, Debug)]
pub struct Claimed {
    /// The right to write for it.
    pub lease: Lease,
    /// Whose it is.
    pub tenant: TenantId,
    /// The job as it stands.
    pub job: Job,
    /// What was asked for.
    pub request: JobRequest,
    /// Its place in a conversation.
    pub seat: Option<Seat>,
    /// The last entry of its log.
    pub last_seq: i64,
    /// Whether someone asked for its end while nobody had it.
    pub cancel_requested: bool,
    /// Attempts that a fault of ours ended.
    pub failures: i16,
    /// Attempts that the model's provider ended.
    pub model_outages: i16,
    /// When it could have started.
    pub due_at: DateTime<Utc>,
    /// The database's clock at the claim.
    pub claimed_at: DateTime<Utc>,
    /// Time that earlier attempts took.
    pub spent: Duration,
    /// Whether its tenant has a budget.
    pub has_tenant_budget: bool,
}

/// Takes up to `slots` of the jobs that are ready and run an agent or one of the worker's skills, in the
/// order of their rank. A skill that its tenant has uploaded is on no worker's list: it goes to those that have the
/// programs that it needs. What needs a network is left to workers that have one.
///
/// The state is a literal: as a parameter it would hide the partial index from the planner.
pub async fn claim(
    db: impl PgExecutor<'_>,
    worker: WorkerId,
    skills: &[String],
    slots: i64,
    has_network: bool,
) -> sqlx::Result<Vec<Claimed>> {
    let rows = sqlx::query_as!(
        Row,
        r#"
        with head as materialized (
            select job_id
            from run
            where state = 'ready' and ($4 or not needs_network)
              and case
                  when needs is null then skill is null or skill = any($2)
                  -- The worker's row has its programs: they are many, and read for these jobs only.
                  else needs_met(needs, (select programs from worker where id = $1))
              end
              and exists (select from worker where id = $1 and stopped_at is null)
            order by rank
            limit $3
            for update skip locked
        ),
        taken as (
            update run set
                state = 'running',
                worker_id = $1,
                lease = run.lease + 1,
                attempt = run.attempt + 1,
                started_at = coalesce(run.started_at, now()),
                claimed_at = now()
            from head
            where run.job_id = head.job_id
            returning run.*
        )
        select
            taken.job_id, taken.tenant_id, taken.lease, taken.attempt, taken.last_seq, taken.cancel_requested, taken.failures,
            taken.model_outages, taken.started_at, taken.run_at, taken.claimed_at as "claimed_at!",
            (extract(epoch from taken.spent) * 1000)::bigint as "spent_ms!",
            exists (
                select from tenant_budget as budget
                where budget.tenant_id = taken.tenant_id
                  and (budget.max_total_tokens is not null or budget.max_cost is not null)
            ) as "has_tenant_budget!",
            job.skill, job.skill_version, encode(job.skill_digest, 'hex') as skill_digest, job.agent, job.agent_version, job.conversation_id, job.place, job.model, job.retry_of, job.created_at,
            job.request as "request: Json<JobRequest>",
            job.metadata as "metadata: Json<Map<String, Value>>"
        from taken
        join job on job.id = taken.job_id
        order by taken.rank
        "#,
        worker.0,
        skills,
        slots,
        has_network,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Claimed::try_from).collect()
}

struct Row {
    job_id: Uuid,
    tenant_id: Uuid,
    lease: i64,
    attempt: i32,
    last_seq: i64,
    cancel_requested: bool,
    failures: i16,
    model_outages: i16,
    started_at: Option<DateTime<Utc>>,
    run_at: DateTime<Utc>,
    claimed_at: DateTime<Utc>,
    spent_ms: i64,
    has_tenant_budget: bool,
    skill: Option<String>,
    skill_version: Option<i32>,
    skill_digest: Option<String>,
    agent: Option<String>,
    agent_version: Option<i32>,
    conversation_id: Option<Uuid>,
    place: Option<i32>,
    model: String,
    retry_of: Option<Uuid>,
    created_at: DateTime<Utc>,
    request: Json<JobRequest>,
    metadata: Json<Map<String, Value>>,
}

impl TryFrom<Row> for Claimed {
    type Error = sqlx::Error;

    fn try_from(row: Row) -> Result<Self, sqlx::Error> {
        let id = JobId(row.job_id);
        let conversation_id = row.conversation_id.map(ConversationId);
        let seat = conversation_id.zip(row.place);
        let job = Job {
            id,
            status: Status::Running,
            skill: row.skill,
            skill_version: row.skill_version,
            skill_digest: row.skill_digest,
            agent: row.agent,
            agent_version: row.agent_version,
            conversation_id,
            model: row
                .model
                .parse()
                .map_err(|error| sqlx::Error::Decode(Box::new(error)))?,
            attempt: row.attempt,
            retry_of: row.retry_of.map(JobId),
            created_at: row.created_at,
            started_at: row.started_at,
            finished_at: None,
            result: JobResult::default(),
            metadata: row.metadata.0,
            queue: None,
        };
        Ok(Claimed {
            lease: Lease {
                job: id,
                number: row.lease,
            },
            tenant: TenantId(row.tenant_id),
            job,
            seat: seat.map(|(conversation, place)| Seat {
                conversation,
                place,
            }),
            request: row.request.0,
            last_seq: row.last_seq,
            cancel_requested: row.cancel_requested,
            failures: row.failures,
            model_outages: row.model_outages,
            due_at: row.run_at,
            claimed_at: row.claimed_at,
            spent: Duration::from_millis(row.spent_ms.unsigned_abs()),
            has_tenant_budget: row.has_tenant_budget,
        })
    }
}

/// Makes jobs ready whose time has come; returns how many. Bounded, so call it again while it is not 0.
pub async fn promote(db: impl PgExecutor<'_>) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "update run set state = 'ready'
         where job_id in (
             select job_id from run
             where state = 'scheduled' and run_at <= now()
             order by run_at
             limit 1000
             for update skip locked
         )",
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
