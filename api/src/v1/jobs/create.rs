//! `POST /v1/jobs`.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, post};
use shared::asset::AssetStore;
use shared::db::{DueNotifications, Notifier, Pool};
use shared::id::JobId;
use shared::job::Job;
use shared::provider::Providers;
use shared::skill::Catalog;
use tokio::time::timeout;

use super::request::CreateJob;
use super::response::JobResponse;
use super::submit::{BodyShape, Key, Submission, Submitted, Submitter};
use super::{find, header};
use crate::auth::Caller;
use crate::body::{Json, MAX_BYTES_WITH_FILES};
use crate::follower::{FollowError, Follower};
use crate::hub::Hub;
use crate::job_writer::JobWriter;
use crate::problem::{ApiError, Problem};
use crate::webhook_target::WebhookTargets;

/// Creates a job. 202 means that it is stored and will be run, whatever happens to the service.
///
/// With `Idempotency-Key`, the same request sent again (within 24 hours) is answered with the same job, and
/// another request under the same key is refused. With `Prefer: wait=n` the answer comes when the job has
/// ended, or after n seconds (at most 60) with the job as it stands.
#[utoipa::path(tag = "jobs", request_body(content = CreateJob, examples(
        ("commands" = (summary = "Run commands, without a model", value = json!({
            "skill": "shell",
            "model": "script/bash",
            "prompt": "```bash\ndate\nuname -a\n```",
            "limits": {"timeout_seconds": 60},
            "metadata": {"order": "4711"},
        }))),
        ("model" = (summary = "Have a model do it; the workers need the key of its provider", value = json!({
            "skill": "html",
            "model": "anthropic/claude-sonnet-4-5",
            "prompt": "Make a page with a table of these sales.",
            "inputs": [{"name": "sales.csv", "data": "bW9udGgsc29sZApKYW4sMTIwCkZlYiwxNDAK"}],
            "limits": {"max_iterations": 20},
        }))),
    )),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Names the request, so that it can be sent again"),
        ("Prefer" = Option<String>, Header, description = "`wait=n`: answer when the job has ended, or after n seconds"),
    ),
    responses(
        (status = 202, description = "The job, accepted", body = Job,
            headers(
                ("Location" = String, description = "The job's path"),
                ("Preference-Applied" = String, description = "`wait=n`, if the answer waited"),
                ("RateLimit" = String, description = "What remains of the tenant's submission rate, if it has one"),
                ("RateLimit-Policy" = String, description = "The tenant's submission rate, if it has one"),
            )),
        (status = 200, description = "The job, ended (`Prefer: wait`), or the one that this key made before", body = Job,
            headers(
                ("Location" = String, description = "The job's path"),
                ("Preference-Applied" = String, description = "`wait=n`, if the answer waited"),
                ("Idempotent-Replayed" = String, description = "`true` if the key was used before"),
            )),
        (status = 429, description = "The tenant has used up its budget for this month (`budget_exceeded`), submits jobs too \
            fast (`submit_rate_exceeded`), or has too many that have not ended (`queue_full`)", body = Problem,
            content_type = "application/problem+json",
            headers(("Retry-After" = u64, description = "Seconds after which it may be accepted"))),
        (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/jobs")]
#[expect(
    clippy::too_many_arguments,
    reason = "a handler's signature is its list of dependencies"
)]
pub(crate) async fn create_job(
    caller: Caller,
    body: Json<CreateJob, MAX_BYTES_WITH_FILES>,
    pool: Data<Pool>,
    writer: Data<JobWriter>,
    assets: Data<AssetStore>,
    catalog: Data<Catalog>,
    providers: Data<Providers>,
    webhook_targets: Data<WebhookTargets>,
    hub: Data<Hub>,
    notifier: Data<Notifier>,
    http: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Json(create) = body;
    let id = JobId::new();
    let patience = header::wait(&http);
    let wait = patience.map(|patience| {
        let follower = Follower::of_new(pool.get_ref().clone(), hub.get_ref().clone(), id);
        (patience, follower)
    });
    let key = Key::of(&http, &create)?;
    let submitter = Submitter {
        caller: &caller,
        pool: &pool,
        writer: &writer,
        assets: &assets,
        catalog: &catalog,
        providers: &providers,
        webhook_targets: &webhook_targets,
    };
    let submission = Submission {
        shape: BodyShape::One,
        requests: vec![(id, create)],
        key,
        is_followed: wait.is_some(),
    };
    let (mut status, job, rate, is_replay) = match submitter.submit(submission).await? {
        Submitted::New(mut jobs, rate) => {
            notifier.notify(DueNotifications::work());
            (StatusCode::ACCEPTED, jobs.swap_remove(0), rate, false)
        }
        Submitted::Replayed(jobs) => {
            let job = find(&pool, caller.tenant, jobs[0]).await?;
            (StatusCode::OK, job, None, true)
        }
    };
    let job = match wait {
        Some((patience, mut follower)) => {
            if job.id != id {
                follower = Follower::new(pool.get_ref().clone(), hub.get_ref().clone(), job.id, 0);
            }
            match end(follower, patience).await? {
                Some(ended) => ended,
                None => find(&pool, caller.tenant, job.id).await?,
            }
        }
        None => job,
    };
    if job.status.is_terminal() {
        status = StatusCode::OK;
    }
    let mut answer = JobResponse::new(status).rate(rate);
    if is_replay {
        answer = answer.replayed();
    }
    if let Some(patience) = patience {
        answer = answer.waited(patience);
    }
    Ok(answer.job(&job))
}

/// The job as it ended; `None` if the patience ends first, or the job is removed, or if a worker of another release
/// wrote what this one cannot read.
async fn end(mut follower: Follower, patience: Duration) -> Result<Option<Job>, ApiError> {
    let to_the_end = async {
        while let Some(frame) = follower.next().await? {
            if let Some(job) = frame.ended {
                return Ok(Some(job));
            }
        }
        Ok::<_, FollowError>(None)
    };
    let ended = match timeout(patience, to_the_end).await {
        Err(_) | Ok(Err(FollowError::LogGone | FollowError::KeyRevoked)) => None,
        Ok(Err(FollowError::Database(error))) => return Err(error.into()),
        Ok(Ok(ended)) => ended,
    };
    // A job that this release cannot read is answered as it stands: by its status.
    Ok(ended.and_then(|job| serde_json::from_str(job.get()).ok()))
}
