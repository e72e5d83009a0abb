//! The failure of a job whose entries the database rejects.

use chrono::{DateTime, Utc};
use shared::db::log::{Append, Lease, finish};
use shared::db::{self, Pool};
use shared::job::{Job, JobErrorCode, JobResult, Outcome};

/// Fails the job, with the result so far from its log. Returns the job and its end time, or
/// `None` if the lease is lost.
pub(super) async fn fail(pool: &Pool, lease: Lease) -> db::Result<Option<(Job, DateTime<Utc>)>> {
    let mut transaction = pool.begin().await?;
    let Some(run) = db::run::lock_lease(&mut transaction, lease).await? else {
        return Ok(None);
    };
    let Some(job) = db::job::get(&mut *transaction, run.tenant, lease.job).await? else {
        return Ok(None);
    };
    let progress = db::event::get_progress(&mut transaction, job.id).await?;
    let mut events = db::event::list_unanswered(&mut transaction, job.id).await?;
    let result = JobResult {
        error: Some(JobErrorCode::Internal.with("internal error")),
        ..progress.into_result()
    };
    let (last, next) = finish(job.clone(), Outcome::Failed, run.now, result);
    events.push(last);
    let append = Append {
        lease,
        base: run.last_seq,
        events,
        next,
    };
    db::log::append_and_notify(&mut transaction, &[append]).await?;
    transaction.commit().await?;
    Ok(Some((job, run.now)))
}
