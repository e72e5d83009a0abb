//! `/v1/jobs`

mod approvals;
mod batch;
mod budget;
mod cancel;
mod create;
mod deliveries;
mod events;
mod header;
mod list;
mod place;
mod request;
mod response;
mod retry;
mod stored_request;
mod stream;
mod submit;
mod tokens;
mod update;

pub(crate) use approvals::list_job_approvals;
pub(crate) use batch::create_jobs;
pub(crate) use cancel::{cancel_job, cancel_unfinished};
pub(crate) use create::create_job;
pub(crate) use deliveries::{list_job_deliveries, redeliver_of_job};
pub(crate) use events::list_events;
pub(crate) use list::list_jobs;
pub(crate) use request::{
    CreateJob, HooksRequest, LimitsRequest, MAX_TOKENS, YEARS, check_external_id, check_metadata,
    check_models, check_output_schema, instant,
};
pub(crate) use response::JobResponse;
pub(crate) use retry::retry_job;
pub(crate) use stored_request::get_job_request;
pub(crate) use stream::stream_job;
pub(crate) use submit::{Key, Submitted, Submitter};
pub(crate) use tokens::create_job_token;
pub(crate) use update::update_job;

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, delete, get};
use shared::asset::AssetStore;
use shared::db::{self, Pool};
use shared::id::{JobId, TenantId};
use shared::job::{Job, JobRequest, Status};
use shared::skill::Catalog;
use shared::stored::UnreadableRow;

use crate::auth::Caller;
use crate::etag;
use crate::problem::{ApiError, ErrorCode, Problem};
use crate::v1::assets::release_blobs;
use crate::v1::skills;

/// Returns a job.
///
/// A queued job has the reason why it is not running.
///
/// The response has an `ETag`. A client that polls can send it as `If-None-Match`: the response is 304 while the job
/// is unchanged.
#[utoipa::path(tag = "jobs",
    params(
        ("job_id" = JobId, Path, description = "The job"),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of the job that the client has cached"),
    ),
    responses(
        (status = 200, description = "The job", body = Job,
            headers(("ETag" = String, description = "Changes with the job"))),
        (status = 304, description = "The job is unchanged: `If-None-Match` has its `ETag`"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/jobs/{job_id}")]
pub(crate) async fn get_job(
    caller: Caller,
    pool: Data<Pool>,
    catalog: Data<Catalog>,
    job: Path<JobId>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let job = show(&pool, &catalog, caller.tenant, *job).await?;
    etag::json(&request, &job)
}

/// Returns the current state of a job, with the reason why it is not running if it is queued.
async fn show(
    pool: &Pool,
    catalog: &Catalog,
    tenant: TenantId,
    job: JobId,
) -> Result<Job, ApiError> {
    let mut job = find(pool, tenant, job).await?;
    if job.status == Status::Queued {
        job.queue = place::find(pool, catalog, job.id).await?;
    }
    Ok(job)
}

/// Deletes a job that has ended, with its log and the files that it made.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job")), responses(
    (status = 204, description = "Deleted"),
    (status = 409, description = "The job has not ended; cancel it first", body = Problem, content_type = "application/problem+json"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[delete("/jobs/{job_id}")]
pub(crate) async fn delete_job(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    job: Path<JobId>,
) -> Result<HttpResponse, ApiError> {
    let mut transaction = pool.begin().await?;
    let ended = db::job::lock_ended(&mut transaction, caller.tenant, *job).await?;
    let Some(ended) = ended else {
        // Releases the connection before `find` takes one: waiting for a second one could exhaust the pool.
        transaction.rollback().await?;
        find(&pool, caller.tenant, *job).await?;
        return Err(not_finished("cancel it first"));
    };
    let blobs = db::job::delete(&mut transaction, &[*job]).await?;
    db::event::delete(&mut *transaction, *job).await?;
    transaction.commit().await?;
    release_blobs(&pool, &assets, blobs).await;
    if let Some(skill) = ended.own_skill {
        skills::release_versions(&pool, &assets, caller.tenant, &skill).await;
    }
    Ok(HttpResponse::NoContent().finish())
}

pub(crate) async fn find(pool: &Pool, tenant: TenantId, job: JobId) -> Result<Job, ApiError> {
    db::job::get(pool, tenant, job)
        .await?
        .ok_or(ApiError::NotFound("job"))
}

/// Returns the stored request of a job, or an error if this release cannot read it.
fn readable(request: Option<Result<JobRequest, UnreadableRow>>) -> Result<JobRequest, ApiError> {
    let request = request.ok_or(ApiError::NotFound("job"))?;
    request.map_err(|_| ApiError::Conflict {
        code: ErrorCode::JobUnreadable,
        detail: "this release cannot read the request of this job, which another release stored; update the service, \
                 or send the request as a new job"
            .to_owned(),
    })
}

fn not_finished(remedy: &str) -> ApiError {
    ApiError::Conflict {
        code: ErrorCode::JobNotFinished,
        detail: format!("this job has not ended; {remedy}"),
    }
}
