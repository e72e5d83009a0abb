//! `POST /v1/jobs/{id}/retry`.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, post};
use sha2::{Digest, Sha256};
use shared::db::job::{Needs, NewJob};
use shared::db::{self, Pool};
use shared::id::{JobId, TenantId};
use shared::job::{Input, Job, JobRequest, Target};
use shared::provider::Providers;
use shared::skill::Network;
use shared::telemetry::trace::Origin;

use super::budget::check_budget;
use super::create::answer;
use super::intake::{Shape, refused};
use super::{find, not_finished};
use crate::auth::Caller;
use crate::doorbell::Doorbell;
use crate::problem::{ApiError, Problem};

/// Creates a job like one that has ended, with the same request. In a conversation, it is its latest job.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job to run again")), responses(
    (status = 202, description = "The new job, with `retry_of`", body = Job,
        headers(("Location" = String, description = "The job's path"))),
    (status = 409, description = "It has not ended", body = Problem, content_type = "application/problem+json"),
    (status = 429, description = "As for `POST /v1/jobs`", body = Problem, content_type = "application/problem+json",
        headers(("Retry-After" = u64, description = "Seconds after which it may be accepted"))),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[post("/jobs/{job_id}/retry")]
pub(crate) async fn retry_job(
    caller: Caller,
    pool: Data<Pool>,
    providers: Data<Providers>,
    doorbell: Data<Doorbell>,
    job: Path<JobId>,
) -> Result<HttpResponse, ApiError> {
    let before = find(&pool, caller.tenant, *job).await?;
    if !before.status.is_terminal() {
        return Err(not_finished("wait for its end, or cancel it"));
    }
    let model = std::iter::once(&before.model);
    if let Some((_, error)) = check_budget(&caller, model, &pool, &providers).await?.pop() {
        return Err(ApiError::Invalid(vec![error]));
    }
    let mut request = db::job::get_request(&**pool, caller.tenant, before.id)
        .await?
        .ok_or(ApiError::NotFound("job"))?
        .map_err(|_| unreadable())?;
    request.origin = None;
    let digest = serde_json::to_vec(&request).map_err(|error| ApiError::Internal(error.into()))?;
    let needs = needs(&before, &request, &pool, caller.tenant).await?;
    let target = match (before.skill, before.agent) {
        (Some(skill), _) => Target::Skill(skill),
        (None, agent) => Target::Agent(agent.unwrap_or_default()),
    };
    let id = JobId::new();
    let mut transaction = pool.begin().await?;
    // It stays as it is until the new one is there: its skill's version and its files are used again.
    let ended = db::job::lock_ended(&mut transaction, caller.tenant, before.id).await?;
    if ended.is_none() {
        return Err(ApiError::NotFound("job"));
    }
    let mut counted = false;
    if caller.has_submit_limit {
        match db::submit_limit::take(&mut transaction, caller.tenant, 1).await? {
            Ok(is_counted) => counted = is_counted,
            Err(refusal) => {
                transaction.commit().await?;
                return Err(refused(Shape::One, refusal));
            }
        }
    }
    let assets = request.inputs.iter().filter_map(Input::asset_id);
    let assets: Vec<_> = assets.collect();
    db::asset::use_as_inputs(&mut *transaction, caller.tenant, &assets).await?;
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
            let joining = [conversation];
            let seats = db::conversation::join(&mut transaction, caller.tenant, &joining);
            seats.await?.swap_remove(0)
        }
        None => None,
    };
    let new = NewJob {
        id,
        tenant: caller.tenant,
        target,
        skill_version: before.skill_version,
        skill_digest: before.skill_digest,
        needs,
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
    let inserted = db::job::insert(&mut *transaction, counted, std::slice::from_ref(&new));
    let created_at = inserted.await?;
    transaction.commit().await?;
    if let Some(conversation) = before.conversation_id {
        db::run::admit_blocked(&**pool, &[conversation]).await?;
    }
    doorbell.ring();
    Ok(answer(StatusCode::ACCEPTED, &new.accepted(created_at)))
}

fn unreadable() -> ApiError {
    ApiError::Conflict {
        code: "job_unreadable",
        detail: "this release cannot read the request of this job, which another release stored; update the service, \
                 or send the request as a new job"
            .to_owned(),
    }
}

/// What a job needs of a worker, and so does one like it.
async fn needs(
    job: &Job,
    request: &JobRequest,
    pool: &Pool,
    tenant: TenantId,
) -> sqlx::Result<Needs> {
    if let (Some(skill), Some(version)) = (&job.skill, job.skill_version) {
        // Its version is there as long as the job is.
        let needs = db::skill::get_needs(pool, tenant, skill, version).await?;
        return Ok(needs.unwrap_or_default());
    }
    let agent = request.agent.as_ref();
    Ok(Needs {
        programs: None,
        network: agent.is_some_and(|agent| agent.settings.network != Network::None),
    })
}
