//! Taking jobs off the queue.

use std::time::Duration;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use sqlx::types::Json;

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
    /// The database's clock at the claim.
    pub claimed_at: DateTime<Utc>,
    /// Time that earlier attempts took.
    pub spent: Duration,
    /// Whether its tenant has a budget.
    pub has_tenant_budget: bool,
}

/// Takes up to `slots` of the jobs that are ready and run an agent or one of the worker's skills, in the
/// order of their rank. Agents that need a network are left to workers that have one.
///
/// The state is a literal: as a parameter it would hide the partial index from the planner.
pub async fn claim(
    db: impl PgExecutor<'_>,
    worker: WorkerId,
    skills: &[String],
    slots: i64,
    has_network: bool,
) -> sqlx::Result<Vec<Claimed>> {
    let rows = sqlx::query!(
        r#"
        with head as materialized (
            select job_id
            from run
            where state = 'ready' and (skill is null or skill = any($2)) and ($4 or not needs_network)
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
            taken.model_outages, taken.started_at, taken.claimed_at as "claimed_at!",
            (extract(epoch from taken.spent) * 1000)::bigint as "spent_ms!",
            exists (
                select from tenant_budget as budget
                where budget.tenant_id = taken.tenant_id
                  and (budget.max_total_tokens is not null or budget.max_cost is not null)
            ) as "has_tenant_budget!",
            job.skill, job.agent, job.agent_version, job.conversation_id, job.place, job.model, job.retry_of, job.created_at,
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
    rows.into_iter()
        .map(|row| {
            let id = JobId(row.job_id);
            let conversation_id = row.conversation_id.map(ConversationId);
            let seat = conversation_id.zip(row.place);
            let job = Job {
                id,
                status: Status::Running,
                skill: row.skill,
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
                claimed_at: row.claimed_at,
                spent: Duration::from_millis(row.spent_ms.unsigned_abs()),
                has_tenant_budget: row.has_tenant_budget,
            })
        })
        .collect()
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
