use actix_web::post;
use actix_web::web::{Data, Json, Path};
use shared::db;
use shared::db::log::Append;
use shared::id::JobId;
use shared::job::{Job, JobResult, Outcome};
use sqlx::PgPool;

use super::find;
use crate::auth::Caller;
use crate::problem::{ApiError, Problem};

/// Cancels a job, and returns it as it stands.
///
/// A queued one has ended with the answer; a running one ends soon after: its model's reply is dropped and its commands are killed. One that has ended stays as it is.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job")), responses(
    (status = 200, description = "The job", body = Job),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[post("/jobs/{job_id}/cancel")]
pub(crate) async fn cancel_job(
    caller: Caller,
    pool: Data<PgPool>,
    job: Path<JobId>,
) -> Result<Json<Job>, ApiError> {
    let mut transaction = pool.begin().await?;
    let mut conversation = None;
    if let Some(run) = db::run::lock(&mut transaction, caller.tenant, *job).await? {
        if run.is_running {
            db::run::request_cancel(&mut transaction, *job).await?;
        } else {
            let job = db::job::get(&mut *transaction, caller.tenant, *job)
                .await?
                .ok_or(ApiError::NotFound("job"))?;
            conversation = job.conversation_id;
            let (event, next) =
                db::log::finish(job, Outcome::Cancelled, run.now, JobResult::default());
            let append = Append {
                lease: run.lease,
                base: run.last_seq,
                events: vec![event],
                next,
            };
            db::log::append(&mut *transaction, &[append]).await?;
        }
    }
    transaction.commit().await?;
    if conversation.is_some() {
        // The job before it may have ended meanwhile and made this one the next.
        db::run::admit_blocked(&**pool, conversation).await?;
    }
    Ok(Json(find(&pool, caller.tenant, *job).await?))
}
