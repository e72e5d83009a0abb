//! Expiry of approvals: calls that are not answered in time are denied.

use shared::approval::{Answer, Approval};
use shared::db::{self, Pool};
use shared::event::ApprovalStatus;
use shared::id::{JobId, TenantId};

use super::skip::skip;

/// The maximum number of jobs whose approvals expire in one round. The next round handles the others.
const MAX_JOBS: i64 = 100;

/// Denies calls whose approval expired. Returns the number of jobs that can continue.
pub(super) async fn run(pool: &Pool) -> db::Result<u64> {
    let mut resumed = 0;
    for (tenant, job) in db::approval::list_expired(pool, MAX_JOBS).await? {
        match expire_calls_of(pool, tenant, job).await {
            Ok(goes_on) => resumed += u64::from(goes_on),
            Err(error) => skip(job, error)?,
        }
    }
    Ok(resumed)
}

/// Denies the expired calls of one job. Returns whether the job can continue.
async fn expire_calls_of(pool: &Pool, tenant: TenantId, job: JobId) -> db::Result<bool> {
    let mut transaction = pool.begin().await?;
    let Some(run) = db::run::lock(&mut transaction, tenant, job).await? else {
        return Ok(false);
    };
    let pending = db::approval::list_pending(&mut transaction, &run).await?;
    let is_late = |approval: &Approval| {
        (approval.expires_at <= run.now).then(|| Answer::unasked(ApprovalStatus::Expired))
    };
    let goes_on = db::approval::answer(&mut transaction, &run, &pending, is_late).await?;
    transaction.commit().await?;
    Ok(goes_on)
}
