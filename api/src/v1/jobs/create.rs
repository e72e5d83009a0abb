//! `POST /v1/jobs`.

use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, ResponseError, post};
use shared::asset::AssetStore;
use shared::db::{DueNotifications, Notifier, Pool};
use shared::id::{JobId, TenantId};
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

/// Creates a job.
///
/// 202 means that the job is stored and will run, even if processes of the service crash.
///
/// With `Idempotency-Key`, the same request can be sent again within 24 hours, and the response is the same job. A
/// different request with the same key is refused. With `Prefer: wait=n`, the response is sent when the job has
/// ended, or after n seconds (at most 60) with the current state of the job.
#[utoipa::path(tag = "jobs", request_body(content = CreateJob, examples(
        ("commands" = (summary = "Run commands, without a model", value = json!({
            "skill": "shell",
            "model": "script/bash",
            "prompt": "```bash\ndate\nuname -a\n```",
            "limits": {"timeout_seconds": 60},
            "metadata": {"order": "4711"},
        }))),
        ("model" = (summary = "Run a model; the workers need the API key of its provider", value = json!({
            "skill": "html",
            "model": "anthropic/claude-sonnet-4-5",
            "prompt": "Make a page with a table of these sales.",
            "inputs": [{"name": "sales.csv", "data": "bW9udGgsc29sZApKYW4sMTIwCkZlYiwxNDAK"}],
            "limits": {"max_iterations": 20},
        }))),
    )),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies the request, so that it can be retried safely"),
        ("Prefer" = Option<String>, Header, description = "`wait=n`: respond when the job has ended, or after n seconds"),
    ),
    responses(
        (status = 202, description = "The accepted job", body = Job,
            headers(
                ("Location" = String, description = "The job's path"),
                ("Preference-Applied" = String, description = "`wait=n`, if the response waited for the job"),
                ("RateLimit" = String, description = "The remaining submission rate of the tenant, if it has a limit"),
                ("RateLimit-Policy" = String, description = "The submission rate of the tenant, if it has a limit"),
            )),
        (status = 200, description = "The ended job (`Prefer: wait`), or the job that an earlier request with this key created", body = Job,
            headers(
                ("Location" = String, description = "The job's path"),
                ("Preference-Applied" = String, description = "`wait=n`, if the response waited for the job"),
                ("Idempotent-Replayed" = String, description = "`true` if the key was used before"),
            )),
        (status = 429, description = "The tenant has used up its budget for this month (`budget_exceeded`), submits jobs too \
            fast (`submit_rate_exceeded`), or has too many that have not ended (`queue_full`)", body = Problem,
            content_type = "application/problem+json",
            headers(("Retry-After" = u64, description = "Seconds to wait before the next attempt"))),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
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
            match end(follower, patience).await {
                Some(ended) => ended,
                None => current(&pool, caller.tenant, job).await?,
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

/// Returns the current state of an accepted job. If the database is not available, returns the state at the
/// acceptance, because the client would submit the job again after an error.
async fn current(pool: &Pool, tenant: TenantId, accepted: Job) -> Result<Job, ApiError> {
    match find(pool, tenant, accepted.id).await {
        Err(error) if error.status_code().is_server_error() => {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(job = %accepted.id, error, "cannot read the state of an accepted job");
            Ok(accepted)
        }
        found => found,
    }
}

/// Waits until the job has ended, and returns it. Returns `None` if the time is over first, if the log cannot be read
/// or was deleted, or if another release wrote the job and this one cannot read it.
async fn end(mut follower: Follower, patience: Duration) -> Option<Job> {
    let to_the_end = async {
        while let Some(frame) = follower.next().await? {
            if let Some(job) = frame.ended {
                return Ok(Some(job));
            }
        }
        Ok::<_, FollowError>(None)
    };
    let ended = timeout(patience, to_the_end).await.ok()?.ok()??;
    // If this release cannot read the ended job, the response has the current state of the job instead.
    serde_json::from_str(ended.get()).ok()
}
