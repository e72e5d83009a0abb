//! Pending approvals. The requests and the decisions are in the logs of the jobs.

use chrono::{DateTime, Utc};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use sqlx::types::Json;
use uuid::Uuid;

use super::Connection;
use super::log::{Append, RunTransition};
use super::run::LockedRun;
use crate::approval::{Answer, Approval, resolve};
use crate::event::{ApprovalStatus, EventData, JobResumed, WaitReason};
use crate::id::{ApprovalId, JobId, TenantId};
use crate::stored::read_or_else;

/// A filter of approvals.
#[derive(Default)]
pub struct ApprovalFilter {
    /// Only the approval with this id.
    pub id: Option<ApprovalId>,
    /// Only approvals of this job.
    pub job: Option<JobId>,
    /// Only approvals with this status.
    pub status: Option<ApprovalStatus>,
}

/// Returns one of the tenant's approvals.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: ApprovalId,
) -> sqlx::Result<Option<Approval>> {
    let filter = ApprovalFilter {
        id: Some(id),
        ..ApprovalFilter::default()
    };
    Ok(list(db, tenant, &filter, None, 1).await?.pop())
}

/// Lists the tenant's approvals before `before`, newest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    filter: &ApprovalFilter,
    before: Option<ApprovalId>,
    limit: i64,
) -> sqlx::Result<Vec<Approval>> {
    let rows = sqlx::query_as!(
        ApprovalRow,
        r#"
        select
            approval.id, approval.job_id, approval.status as "status: ApprovalStatus", approval.expires_at,
            requested.at as requested_at, requested.data as "requested: Json<Box<RawValue>>",
            resolved.at as "resolved_at?", resolved.data as "resolved?: Json<Box<RawValue>>"
        from approval
        join job_event as requested on requested.job_id = approval.job_id and requested.seq = approval.requested_seq
        left join job_event as resolved on resolved.job_id = approval.job_id and resolved.seq = approval.resolved_seq
        where approval.tenant_id = $1
          and ($2::uuid is null or approval.id = $2)
          and ($3::uuid is null or approval.job_id = $3)
          and ($4::approval_status is null or approval.status = $4)
          and ($5::uuid is null or approval.id < $5)
        order by approval.id desc
        limit $6
        "#,
        tenant.0,
        filter.id.map(|id| id.0),
        filter.job.map(|id| id.0),
        filter.status as Option<ApprovalStatus>,
        before.map(|id| id.0),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Approval::from).collect())
}

/// The maximum number of pending approvals of a job. A model reply has no more tool calls.
const MAX_PENDING: i64 = 1000;

/// Lists the pending approvals of a job in the order of its tool calls. The caller holds the lock of the run, so the
/// approvals stay pending.
pub async fn list_pending(db: &mut Connection, run: &LockedRun) -> sqlx::Result<Vec<Approval>> {
    let filter = ApprovalFilter {
        job: Some(run.lease.job),
        status: Some(ApprovalStatus::Pending),
        ..ApprovalFilter::default()
    };
    let mut pending = list(db, run.tenant, &filter, None, MAX_PENDING).await?;
    pending.reverse();
    Ok(pending)
}

/// Lists up to `limit` jobs with expired approvals, and their tenants.
pub async fn list_expired(
    db: impl PgExecutor<'_>,
    limit: i64,
) -> sqlx::Result<Vec<(TenantId, JobId)>> {
    let rows = sqlx::query!(
        "select tenant_id, job_id
         from approval
         where status = 'pending' and expires_at <= now()
         order by expires_at
         limit $1",
        limit,
    )
    .fetch_all(db)
    .await?;
    let mut jobs: Vec<_> = rows
        .into_iter()
        .map(|row| (TenantId(row.tenant_id), JobId(row.job_id)))
        .collect();
    jobs.dedup();
    Ok(jobs)
}

/// Resolves the pending approvals of a job that have an answer. Returns whether the job resumes because no approval is
/// left pending.
pub async fn answer(
    db: &mut Connection,
    run: &LockedRun,
    pending: &[Approval],
    answer: impl Fn(&Approval) -> Option<Answer>,
) -> sqlx::Result<bool> {
    let mut events = resolve(pending, answer);
    if events.is_empty() {
        return Ok(false);
    }
    let goes_on = events.len() == pending.len();
    if goes_on {
        events.push(EventData::JobResumed(JobResumed {
            reason: WaitReason::Approval,
        }));
    }
    let append = Append {
        lease: run.lease,
        base: run.last_seq,
        events,
        next: if goes_on {
            RunTransition::Resume
        } else {
            RunTransition::Continue
        },
    };
    super::log::append_and_notify(db, &[append]).await?;
    Ok(goes_on)
}

struct ApprovalRow {
    id: Uuid,
    job_id: Uuid,
    status: ApprovalStatus,
    expires_at: DateTime<Utc>,
    requested_at: DateTime<Utc>,
    requested: Json<Box<RawValue>>,
    resolved_at: Option<DateTime<Utc>>,
    resolved: Option<Json<Box<RawValue>>>,
}

/// The fields of `approval.requested` that an approval shows. If they are unreadable, the `call_id` is empty and
/// matches no tool call of a worker.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Requested {
    call_id: String,
    tool: String,
    input: Value,
}

/// The fields of `approval.resolved` that an approval shows.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Resolved {
    reason: Option<String>,
    resolved_by: Option<String>,
}

impl From<ApprovalRow> for Approval {
    /// Replaces unreadable data with defaults, so that a list still shows the approval.
    fn from(row: ApprovalRow) -> Self {
        let requested = read_or_else("an approval", row.id, &row.requested, Requested::default);
        let resolved = row.resolved.as_deref();
        let resolved = resolved.map(|it| read_or_else("an answer", row.id, it, Resolved::default));
        let Resolved {
            reason,
            resolved_by,
        } = resolved.unwrap_or_default();
        Self {
            id: ApprovalId(row.id),
            job_id: JobId(row.job_id),
            call_id: requested.call_id,
            tool: requested.tool,
            input: requested.input,
            status: row.status,
            requested_at: row.requested_at,
            expires_at: row.expires_at,
            resolved_at: row.resolved_at,
            reason,
            resolved_by,
        }
    }
}
