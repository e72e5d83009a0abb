//! `POST /v1/jobs/{id}/cancel`.

use actix_web::post;
use actix_web::web::{Data, Json, Path};
use shared::db::{self, Pool};
use shared::id::{JobId, TenantId};
use shared::job::{Job, Outcome};
use shared::telemetry::metrics::Metrics;

use super::find;
use crate::auth::Caller;
use crate::problem::{ApiError, Problem};

/// Cancels a job and returns it.
///
/// A queued or waiting job has ended when the response is sent. A running job ends soon after: the reply of its model
/// is dropped and its commands are killed. A job that has ended stays unchanged.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job")), responses(
    (status = 200, description = "The job", body = Job),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/jobs/{job_id}/cancel")]
pub(crate) async fn cancel_job(
    caller: Caller,
    pool: Data<Pool>,
    metrics: Data<Metrics>,
    job: Path<JobId>,
) -> Result<Json<Job>, ApiError> {
    let was_unfinished = cancel_unfinished(&pool, &metrics, caller.tenant, *job).await?;
    let job = find(&pool, caller.tenant, *job).await?;
    if was_unfinished && let Some(conversation) = job.conversation_id {
        // The previous job may have ended in the meantime and made this job the next one.
        db::conversation::admit_blocked(&**pool, &[conversation]).await?;
    }
    Ok(Json(job))
}

/// Cancels a job of the tenant. Returns whether the job had not ended yet.
pub(crate) async fn cancel_unfinished(
    pool: &Pool,
    metrics: &Metrics,
    tenant: TenantId,
    job: JobId,
) -> db::Result<bool> {
    let mut transaction = pool.begin().await?;
    let run = db::run::lock(&mut transaction, tenant, job).await?;
    let ended = match &run {
        Some(run) if run.is_running => {
            db::run::request_cancel(&mut transaction, job).await?;
            None
        }
        Some(run) => Some((db::cancel::cancel(&mut transaction, run).await?, run.now)),
        None => None,
    };
    transaction.commit().await?;
    if let Some((job, at)) = ended {
        metrics.job_ended(&job, Outcome::Cancelled, at);
    }
    Ok(run.is_some())
}
