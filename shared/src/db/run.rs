//! Runs: the state of unfinished jobs, cancellation requests, and runs whose worker is gone.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::log::Lease;
use super::{CANCEL_CHANNEL, Connection, WORK_CHANNEL};
use crate::id::{JobId, TenantId, WorkerId};

/// A run that its caller has locked.
pub struct LockedRun {
    /// Its lease.
    pub lease: Lease,
    /// The last entry of its log.
    pub last_seq: i64,
    /// The tenant.
    pub tenant: TenantId,
    /// Whether a worker has it.
    pub is_running: bool,
    /// Whether its cancellation was requested.
    pub cancel_requested: bool,
    /// The number of workers that died while they ran it.
    pub crashes: i16,
    /// The database's clock.
    pub now: DateTime<Utc>,
}

/// Locks one of the tenant's unfinished jobs; `None` if it has ended or there is none.
pub async fn lock(
    db: &mut Connection,
    tenant: TenantId,
    job: JobId,
) -> sqlx::Result<Option<LockedRun>> {
    let row = sqlx::query!(
        r#"select lease, last_seq, state = 'running' as "is_running!", cancel_requested, crashes, now() as "now!"
           from run
           where job_id = $1 and tenant_id = $2
           for update"#,
        job.0,
        tenant.0,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| LockedRun {
        lease: Lease {
            job,
            number: row.lease,
        },
        last_seq: row.last_seq,
        tenant,
        is_running: row.is_running,
        cancel_requested: row.cancel_requested,
        crashes: row.crashes,
        now: row.now,
    }))
}

/// Those of the jobs that have ended, or were never there.
pub async fn list_absent(db: impl PgExecutor<'_>, jobs: &[JobId]) -> sqlx::Result<Vec<JobId>> {
    let ids: Vec<_> = jobs.iter().map(|job| job.0).collect();
    let absent = sqlx::query_scalar!(
        r#"select id as "id!"
           from unnest($1::uuid[]) as asked (id)
           where not exists (select from run where run.job_id = asked.id)"#,
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(absent.into_iter().map(JobId).collect())
}

/// Requests the cancellation of a running job.
pub async fn request_cancel(db: &mut Connection, job: JobId) -> sqlx::Result<()> {
    sqlx::query!(
        "with asked as (update run set cancel_requested = true where job_id = $1 returning job_id)
         select pg_notify($2, job_id::text) from asked",
        job.0,
        CANCEL_CHANNEL,
    )
    .fetch_optional(db)
    .await?;
    Ok(())
}

/// A run that is with a worker.
pub struct HeldRun {
    /// Its current lease.
    pub lease: Lease,
    /// Whether its cancellation was requested.
    pub cancel_requested: bool,
    /// Whether its tenant has a budget.
    pub has_tenant_budget: bool,
}

/// The runs that are with a worker.
pub async fn list_held(db: impl PgExecutor<'_>, worker: WorkerId) -> sqlx::Result<Vec<HeldRun>> {
    let rows = sqlx::query!(
        r#"select
               job_id,
               lease,
               cancel_requested,
               exists (
                   select from tenant_budget as budget
                   where budget.tenant_id = run.tenant_id
                     and (budget.max_total_tokens is not null or budget.max_cost is not null)
               ) as "has_tenant_budget!"
           from run
           where state = 'running' and worker_id = $1"#,
        worker.0,
    )
    .fetch_all(db)
    .await?;
    let held = rows.into_iter().map(|row| HeldRun {
        lease: Lease {
            job: JobId(row.job_id),
            number: row.lease,
        },
        cancel_requested: row.cancel_requested,
        has_tenant_budget: row.has_tenant_budget,
    });
    Ok(held.collect())
}

/// Locks the run of a lease; `None` if it is superseded or over.
pub async fn lock_lease(db: &mut Connection, lease: Lease) -> sqlx::Result<Option<LockedRun>> {
    let row = sqlx::query!(
        r#"select tenant_id, last_seq, cancel_requested, crashes, now() as "now!"
           from run
           where job_id = $1 and lease = $2 and state = 'running'
           for update"#,
        lease.job.0,
        lease.number,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| LockedRun {
        lease,
        last_seq: row.last_seq,
        tenant: TenantId(row.tenant_id),
        is_running: true,
        cancel_requested: row.cancel_requested,
        crashes: row.crashes,
        now: row.now,
    }))
}

/// Locks up to `limit` orphaned runs: running ones whose worker has stopped, and those that `worker` itself has `lost`.
pub async fn lock_orphans(
    db: &mut Connection,
    worker: WorkerId,
    lost: &[Lease],
    limit: i64,
) -> sqlx::Result<Vec<LockedRun>> {
    let (lost, leases): (Vec<_>, Vec<_>) = lost.iter().map(|it| (it.job.0, it.number)).unzip();
    let rows = sqlx::query!(
        r#"select run.job_id, run.tenant_id, run.lease, run.last_seq, run.cancel_requested, run.crashes,
               now() as "now!"
           from worker
           join run on run.worker_id = worker.id and run.state = 'running'
           where worker.stopped_at is not null
               or (worker.id = $1 and (run.job_id, run.lease) in (select * from unnest($2::uuid[], $3::bigint[])))
           limit $4
           for update of run skip locked"#,
        worker.0,
        &lost,
        &leases,
        limit,
    )
    .fetch_all(db)
    .await?;
    let runs = rows.into_iter().map(|row| LockedRun {
        lease: Lease {
            job: JobId(row.job_id),
            number: row.lease,
        },
        last_seq: row.last_seq,
        tenant: TenantId(row.tenant_id),
        is_running: true,
        cancel_requested: row.cancel_requested,
        crashes: row.crashes,
        now: row.now,
    });
    Ok(runs.collect())
}

/// Notifies idle workers that there is a job to claim.
pub async fn notify_work(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query!("select pg_notify($1, '')", WORK_CHANNEL)
        .fetch_one(db)
        .await?;
    Ok(())
}
