//! `POST /v1/jobs/{id}/retry`.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, post};
use shared::asset::AssetStore;
use shared::db::job::{Needs, NewJobRow};
use shared::db::{self, DueNotifications, Notifier, Pool};
use shared::id::{JobId, TenantId};
use shared::job::{Job, JobRequest, Origin, Target};
use shared::provider::Providers;
use shared::skill::{Catalog, Network};

use super::response::JobResponse;
use super::submit::{Key, Submitted, Submitter, digest};
use super::{find, not_finished, readable};
use crate::auth::Caller;
use crate::job_writer::JobWriter;
use crate::problem::{ApiError, Problem};
use crate::webhook_target::WebhookTargets;

/// Creates a new job with the request of a job that has ended.
///
/// In a conversation, the new job becomes the latest job.
#[utoipa::path(tag = "jobs",
    params(
        ("job_id" = JobId, Path, description = "The job to run again"),
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies the request, so that it can be retried safely"),
    ),
    responses(
        (status = 202, description = "The new job, with `retry_of`", body = Job,
            headers(("Location" = String, description = "The job's path"))),
        (status = 200, description = "The job that an earlier request with this key created", body = Job),
        (status = 409, description = "The job has not ended", body = Problem, content_type = "application/problem+json"),
        (status = 429, description = "As for `POST /v1/jobs`", body = Problem, content_type = "application/problem+json",
            headers(("Retry-After" = u64, description = "Seconds to wait before the next attempt"))),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/jobs/{job_id}/retry")]
#[expect(
    clippy::too_many_arguments,
    reason = "a handler's signature is its list of dependencies"
)]
pub(crate) async fn retry_job(
    caller: Caller,
    pool: Data<Pool>,
    writer: Data<JobWriter>,
    assets: Data<AssetStore>,
    catalog: Data<Catalog>,
    providers: Data<Providers>,
    webhook_targets: Data<WebhookTargets>,
    notifier: Data<Notifier>,
    job: Path<JobId>,
    http: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let before = find(&pool, caller.tenant, *job).await?;
    if !before.status.is_terminal() {
        return Err(not_finished("wait until it ends, or cancel it"));
    }
    let key = Key::of(&http, &("retry", before.id))?;
    let conversation = before.conversation_id;
    let new = new_job(&pool, caller.tenant, before).await?;
    let submitter = Submitter {
        caller: &caller,
        pool: &pool,
        writer: &writer,
        assets: &assets,
        catalog: &catalog,
        providers: &providers,
        webhook_targets: &webhook_targets,
    };
    match submitter.retry(new, conversation, key).await? {
        Submitted::New(mut jobs, rate) => {
            notifier.notify(DueNotifications::work());
            Ok(JobResponse::new(StatusCode::ACCEPTED)
                .rate(rate)
                .job(&jobs.swap_remove(0)))
        }
        Submitted::Replayed(jobs) => {
            let job = find(&pool, caller.tenant, jobs[0]).await?;
            Ok(JobResponse::new(StatusCode::OK).replayed().job(&job))
        }
    }
}

/// Returns a new job with the stored request of an earlier job.
async fn new_job(pool: &Pool, tenant: TenantId, before: Job) -> Result<NewJobRow, ApiError> {
    let mut request = readable(db::job::get_request(pool, tenant, before.id).await?)?;
    request.origin = None;
    let digest = hex::encode(digest(&request)?);
    request.origin = Origin::current();
    let models = request.models.as_ref();
    let model = models.map_or_else(|| before.model.clone(), |it| it.first().clone());
    let needs = needs(&before, &request, pool, tenant).await?;
    let target = match (before.skill, before.agent) {
        (Some(skill), _) => Target::Skill(skill),
        (None, agent) => Target::Agent(agent.unwrap_or_default()),
    };
    Ok(NewJobRow {
        id: JobId::new(),
        tenant,
        target,
        title: before.title,
        external_id: before.external_id,
        skill_version: before.skill_version,
        skill_digest: before.skill_digest,
        needs,
        position: None,
        model,
        request,
        metadata: before.metadata,
        retry_of: Some(before.id),
        schedule: None,
        run_at: None,
        digest,
        is_followed: false,
    })
}

/// Returns the needs of a job, which are also the needs of its retry.
async fn needs(
    job: &Job,
    request: &JobRequest,
    pool: &Pool,
    tenant: TenantId,
) -> db::Result<Needs> {
    if let (Some(skill), Some(version)) = (&job.skill, job.skill_version) {
        // The version of the skill exists as long as the job.
        let needs = db::skill::get_needs(pool, tenant, skill, version).await?;
        return Ok(needs.unwrap_or_default());
    }
    let agent = request.agent.as_ref();
    Ok(Needs {
        programs: None,
        network: agent.is_some_and(|agent| agent.settings.network != Network::None),
    })
}
