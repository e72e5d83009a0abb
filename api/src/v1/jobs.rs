//! `/v1/jobs`

mod approvals;
mod batch;
mod budget;
mod cancel;
mod create;
mod events;
mod header;
mod intake;
mod place;
mod request;
mod retry;
mod stream;

pub(crate) use approvals::{list_job_approvals, resolve_approval};
pub(crate) use batch::create_jobs;
pub(crate) use cancel::cancel_job;
pub(crate) use create::create_job;
pub(crate) use events::list_events;
pub(crate) use request::{HooksRequest, LimitsRequest, MOST_TOKENS, check_metadata};
pub(crate) use retry::retry_job;
pub(crate) use stream::stream_job;

use actix_web::web::{Data, Path, Query};
use actix_web::{HttpResponse, delete, get};
use serde::Deserialize;
use shared::asset::AssetStore;
use shared::db::{self, Pool};
use shared::id::{ConversationId, JobId, TenantId};
use shared::job::{Job, Status};
use shared::skill::Catalog;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};

type JobPage = Page<Job>;

/// Which jobs to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListJobs {
    /// Only jobs in this state.
    status: Option<Status>,
    /// Only jobs of this skill.
    skill: Option<String>,
    /// Only jobs of this agent.
    agent: Option<String>,
    /// Only jobs of this conversation.
    conversation_id: Option<ConversationId>,
    /// Entries of a page, 1 to 100; 20 if not given.
    limit: Option<i64>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists jobs, the newest first.
#[utoipa::path(tag = "jobs", params(ListJobs), responses(
    (status = 200, description = "A page of jobs", body = JobPage),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[get("/jobs")]
pub(crate) async fn list_jobs(
    caller: Caller,
    pool: Data<Pool>,
    query: Query<ListJobs>,
) -> Result<actix_web::web::Json<JobPage>, ApiError> {
    let ListJobs {
        status,
        skill,
        agent,
        conversation_id,
        limit,
        cursor,
    } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let before = cursor::id(cursor.as_deref())?;
    let filter = db::job::Filter {
        status,
        skill,
        agent,
        conversation: conversation_id,
    };
    let jobs = db::job::list(&**pool, caller.tenant, &filter, before, limit + 1).await?;
    Ok(actix_web::web::Json(Page::of(jobs, limit, |job| {
        job.id.to_string()
    })))
}

/// Returns a job as it stands. A queued one says why it is not running.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job")), responses(
    (status = 200, description = "The job", body = Job),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[get("/jobs/{job_id}")]
pub(crate) async fn get_job(
    caller: Caller,
    pool: Data<Pool>,
    catalog: Data<Catalog>,
    job: Path<JobId>,
) -> Result<actix_web::web::Json<Job>, ApiError> {
    let mut job = find(&pool, caller.tenant, *job).await?;
    if job.status == Status::Queued {
        job.queue = place::find(&pool, &catalog, job.id).await?;
    }
    Ok(actix_web::web::Json(job))
}

/// Removes a job that has ended, with its log and the files that it made.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job")), responses(
    (status = 204, description = "It is gone"),
    (status = 409, description = "It has not ended; cancel it first", body = Problem, content_type = "application/problem+json"),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
        // Whoever holds a connection may not wait for another: all could be held so.
        transaction.rollback().await?;
        find(&pool, caller.tenant, *job).await?;
        return Err(not_finished("cancel it first"));
    };
    let blobs = db::job::delete(&mut transaction, &[*job]).await?;
    db::event::delete(&mut *transaction, *job).await?;
    transaction.commit().await?;
    for sha256 in blobs {
        db::asset::release_blob(&pool, &assets, &sha256).await?;
    }
    if let Some(skill) = ended.own_skill {
        db::skill::release(&pool, &assets, Some((caller.tenant, &skill))).await?;
    }
    Ok(HttpResponse::NoContent().finish())
}

async fn find(pool: &Pool, tenant: TenantId, job: JobId) -> Result<Job, ApiError> {
    db::job::get(pool, tenant, job)
        .await?
        .ok_or(ApiError::NotFound("job"))
}

fn not_finished(remedy: &str) -> ApiError {
    ApiError::Conflict {
        code: "job_not_finished",
        detail: format!("this job has not ended; {remedy}"),
    }
}
