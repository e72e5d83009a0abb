//! Cancellation of jobs that no worker holds.

use sqlx::PgExecutor;

use super::Connection;
use super::log::{Append, finish};
use super::run::LockedRun;
use crate::approval::{Answer, resolve};
use crate::event::ApprovalStatus;
use crate::id::{JobId, TenantId};
use crate::job::{Job, Outcome};

/// Cancels a job whose run the caller has locked. The job keeps its result so far, its pending approvals are
/// cancelled, and its unanswered tool calls get a result. Returns the job before the cancellation.
pub async fn cancel(db: &mut Connection, run: &LockedRun) -> sqlx::Result<Job> {
    let job = super::job::get(&mut *db, run.tenant, run.lease.job).await?;
    let job = job.ok_or(sqlx::Error::RowNotFound)?;
    let progress = super::event::get_progress(db, job.id).await?;
    let unanswered = super::event::list_unanswered(db, job.id).await?;
    let pending = super::approval::list_pending(db, run).await?;
    let mut events = resolve(&pending, |_| {
        Some(Answer::unasked(ApprovalStatus::Cancelled))
    });
    let (last, next) = finish(
        job.clone(),
        Outcome::Cancelled,
        run.now,
        progress.into_result(),
    );
    events.extend(unanswered);
    events.push(last);
    let append = Append {
        lease: run.lease,
        base: run.last_seq,
        events,
        next,
    };
    super::log::append_and_notify(db, &[append]).await?;
    Ok(job)
}

/// Lists up to `limit` jobs that were cancelled while their worker released them or started to wait, with their
/// tenants. No worker holds these jobs and could end them.
pub async fn list_missed(
    db: impl PgExecutor<'_>,
    limit: i64,
) -> sqlx::Result<Vec<(TenantId, JobId)>> {
    let rows = sqlx::query!(
        "select tenant_id, job_id from run where state <> 'running' and cancel_requested limit $1",
        limit,
    )
    .fetch_all(db)
    .await?;
    let jobs = rows
        .into_iter()
        .map(|row| (TenantId(row.tenant_id), JobId(row.job_id)));
    Ok(jobs.collect())
}
