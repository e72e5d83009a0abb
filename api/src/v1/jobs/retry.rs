use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, post};
use sha2::{Digest, Sha256};
use shared::db;
use shared::db::job::NewJob;
use shared::id::JobId;
use shared::job::{Input, Job, JobRequest, Target};
use shared::provider::Providers;
use shared::telemetry::trace::Origin;
use sqlx::PgPool;

use super::budget::check_budget;
use super::create::answer;
use super::{find, not_finished};
use crate::auth::Caller;
use crate::doorbell::Doorbell;
use crate::problem::{ApiError, Problem};

/// Creates a job like one that has ended, with the same request. In a conversation, it is its latest job.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job to run again")), responses(
    (status = 202, description = "The new job, with `retry_of`", body = Job,
        headers(("Location" = String, description = "The job's path"))),
    (status = 409, description = "It has not ended", body = Problem, content_type = "application/problem+json"),
    (status = 429, description = "The tenant has used up its budget for this month (`budget_exceeded`)", body = Problem,
        content_type = "application/problem+json",
        headers(("Retry-After" = u64, description = "Seconds until the next month"))),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[post("/jobs/{job_id}/retry")]
pub(crate) async fn retry_job(
    caller: Caller,
    pool: Data<PgPool>,
    providers: Data<Providers>,
    doorbell: Data<Doorbell>,
    job: Path<JobId>,
) -> Result<HttpResponse, ApiError> {
    let before = find(&pool, caller.tenant, *job).await?;
    if !before.status.is_terminal() {
        return Err(not_finished("wait for its end, or cancel it"));
    }
    check_budget(&caller, &before.model, &pool, &providers).await?;
    let mut request = db::job::get_request(&**pool, caller.tenant, before.id)
        .await?
        .ok_or(ApiError::NotFound("job"))?;
    request.origin = None;
    let digest = serde_json::to_vec(&request).map_err(|error| ApiError::Internal(error.into()))?;
    let target = match (before.skill, before.agent) {
        (Some(skill), _) => Target::Skill(skill),
        (None, agent) => Target::Agent(agent.unwrap_or_default()),
    };
    let id = JobId::new();
    let mut transaction = pool.begin().await?;
    // What came with the first request belongs to the first job, and would go with it.
    for input in &mut request.inputs {
        if let Input::Asset { id: asset } = input
            && let Some(copy) = db::asset::copy(&mut transaction, *asset, before.id, id).await?
        {
            *asset = copy;
        }
    }
    let seat = match before.conversation_id {
        Some(conversation) => {
            db::conversation::join(&mut transaction, caller.tenant, conversation).await?
        }
        None => None,
    };
    let new = NewJob {
        id,
        tenant: caller.tenant,
        target,
        skill_version: before.skill_version,
        skill_digest: before.skill_digest,
        seat,
        model: before.model,
        request: JobRequest {
            origin: Origin::current(),
            ..request
        },
        metadata: before.metadata,
        retry_of: Some(before.id),
        run_at: None,
        digest: hex::encode(Sha256::digest(digest)),
    };
    let job = db::job::insert(&mut *transaction, &new).await?;
    transaction.commit().await?;
    if seat.is_some() {
        db::run::admit_blocked(&**pool, before.conversation_id).await?;
    }
    doorbell.ring();
    Ok(answer(StatusCode::ACCEPTED, &job))
}
