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
    /// Seconds of it that its tenant was charged in advance: none while no other tenant has jobs.
    pub prepaid: f64,
    /// Whether its tenant has a budget.
    pub has_tenant_budget: bool,
}

/// Takes up to `slots` of the jobs that are ready and run an agent or one of the worker's skills. A skill that its
/// tenant has uploaded is on no worker's list: it goes to those that have the programs that it needs. What needs a
/// network is left to workers that have one.
///
/// The tenant whose virtual time is least goes first, and with each job that it gets its time advances; of its jobs,
/// the one of the lowest rank. Where several tenants have jobs, there may be more to take than it took: ask again
/// until it brings nothing.
///
/// The statement is a function of the database (`migrations/0018_unrunnable.sql`, which says why).
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
        select
            (run).job_id as "job_id!", (run).tenant_id as "tenant_id!", (run).lease as "lease!", (run).attempt as "attempt!",
            (run).last_seq as "last_seq!", (run).cancel_requested as "cancel_requested!", (run).failures as "failures!",
            (run).model_outages as "model_outages!", (run).started_at, (run).run_at as "run_at!", (run).claimed_at as "claimed_at!",
            (extract(epoch from (run).spent) * 1000)::bigint as "spent_ms!",
            prepaid as "prepaid!",
            exists (
                select from tenant_budget as budget
                where budget.tenant_id = (run).tenant_id
                  and (budget.max_total_tokens is not null or budget.max_cost is not null)
            ) as "has_tenant_budget!",
            (job).skill, (job).skill_version, encode((job).skill_digest, 'hex') as skill_digest, (job).agent,
            (job).agent_version, (job).conversation_id, (job).place, (job).model as "model!", (job).retry_of,
            (job).created_at as "created_at!",
            (job).request as "request!: Json<JobRequest>",
            (job).metadata as "metadata!: Json<Map<String, Value>>"
        from claim($1, $2, $3, $4)
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
    prepaid: f64,
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
            prepaid: row.prepaid,
            has_tenant_budget: row.has_tenant_budget,
        })
    }
}

/// Makes jobs ready whose time has come; returns how many. Bounded, so call it again while it is not 0.
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
            select open_lanes(array_agg(distinct tenant_id), null) from due
        )
        select (select count(*) from due) as "count!" from opened
        "#,
    )
    .fetch_one(db)
    .await?;
    Ok(promoted.unsigned_abs())
}
