//! Runs: the state of unfinished jobs, cancellation requests, and orphaned runs.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::log::Lease;
use super::{CANCEL_CHANNEL, Connection, WORK_CHANNEL};
use crate::id::{JobId, TenantId, WorkerId};

/// A run that the caller has locked.
pub struct LockedRun {
    /// The lease of the run.
    pub lease: Lease,
    /// The sequence number of the last event in the log.
    pub last_seq: i64,
    /// The tenant.
    pub tenant: TenantId,
    /// Whether a worker holds the run.
    pub is_running: bool,
    /// Whether cancellation was requested.
    pub cancel_requested: bool,
    /// The number of workers that died while they held the run.
    pub crashes: i16,
    /// The time of the database's clock.
    pub now: DateTime<Utc>,
}

/// Locks the run of one of the tenant's jobs. Returns `None` if the job has ended or does not exist.
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

/// Lists the jobs that have ended or never existed.
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

/// A run that a worker holds.
pub struct HeldRun {
    /// The current lease.
    pub lease: Lease,
    /// Whether cancellation was requested.
    pub cancel_requested: bool,
    /// Whether the tenant has a budget.
    pub has_tenant_budget: bool,
}

/// Lists the runs that a worker holds.
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

/// Locks the run of a lease. Returns `None` if the lease has ended or was superseded.
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

/// Locks up to `limit` orphaned runs: running ones whose worker has stopped, and the runs in `lost` that `worker`
/// lost.
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

/// Notifies idle workers that a job is ready to be claimed.
pub async fn notify_work(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query!("select pg_notify($1, '')", WORK_CHANNEL)
        .fetch_one(db)
        .await?;
    Ok(())
}
