//! `POST /v1/jobs/batch`.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, post};
use serde::{Deserialize, Serialize};
use shared::asset::AssetStore;
use shared::db::{self, DueNotifications, Notifier, Pool};
use shared::id::JobId;
use shared::provider::Providers;
use shared::skill::Catalog;
use utoipa::ToSchema;

use super::list::JobPage;
use super::request::CreateJob;
use super::response::JobResponse;
use super::submit::{BodyShape, Key, Submission, Submitted, Submitter};
use crate::auth::Caller;
use crate::body::Json;
use crate::job_writer::JobWriter;
use crate::problem::{ApiError, Problem};
use crate::webhook_target::WebhookTargets;

/// The maximum number of jobs in a batch. They are stored in one statement and returned in one response.
const MAX_JOBS: usize = 1000;
/// The maximum size of the body. It is larger than for one job, because a batch repeats common settings in each job.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// The request to create several jobs, all of them or none.
#[derive(Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateJobs {
    /// The jobs, each as for `POST /v1/jobs`.
    #[schema(min_items = 1, max_items = 1000)]
    jobs: Vec<CreateJob>,
}

/// Creates up to 1,000 jobs, all of them or none.
///
/// 202 means that the jobs are stored and will run. The pointers of errors begin with `/jobs/` and the index of the
/// job. At most 100 errors are returned. Jobs of one conversation run in the order of the list. With
/// `Idempotency-Key`, the same batch can be sent again within 24 hours, and the response has the same jobs, except
/// for deleted ones. All jobs of a batch together may have at most 200 files as `data`.
#[utoipa::path(tag = "jobs", request_body(content = CreateJobs, example = json!({"jobs": [
        {"skill": "shell", "model": "script/bash", "prompt": "```bash\necho one\n```"},
        {"skill": "shell", "model": "script/bash", "prompt": "```bash\necho two\n```"},
    ]})),
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Identifies the batch, so that it can be retried safely"),
    ),
    responses(
        (status = 202, description = "The accepted jobs", body = JobPage),
        (status = 200, description = "The jobs that an earlier request with this key created", body = JobPage),
        (status = 429, description = "As for `POST /v1/jobs`; each job counts", body = Problem,
            content_type = "application/problem+json",
            headers(("Retry-After" = u64, description = "Seconds to wait before the next attempt"))),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/jobs/batch")]
#[expect(
    clippy::too_many_arguments,
    reason = "a handler's signature is its list of dependencies"
)]
pub(crate) async fn create_jobs(
    caller: Caller,
    body: Json<CreateJobs, MAX_BYTES>,
    pool: Data<Pool>,
    writer: Data<JobWriter>,
    assets: Data<AssetStore>,
    catalog: Data<Catalog>,
    providers: Data<Providers>,
    webhook_targets: Data<WebhookTargets>,
    notifier: Data<Notifier>,
    http: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Json(batch) = body;
    if !(1..=MAX_JOBS).contains(&batch.jobs.len()) {
        let detail = format!("must have 1 to {MAX_JOBS} jobs");
        return Err(ApiError::field("/jobs", detail));
    }
    let key = Key::of(&http, &batch)?;
    let requests = batch.jobs.into_iter();
    let requests = requests.map(|request| (JobId::new(), request)).collect();
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
        shape: BodyShape::Batch,
        requests,
        key,
        is_followed: false,
    };
    let (answer, data) = match submitter.submit(submission).await? {
        Submitted::New(jobs, rate) => {
            notifier.notify(DueNotifications::work());
            (JobResponse::new(StatusCode::ACCEPTED).rate(rate), jobs)
        }
        Submitted::Replayed(jobs) => {
            let jobs = db::job::list_by_id(&**pool, caller.tenant, &jobs).await?;
            (JobResponse::new(StatusCode::OK).replayed(), jobs)
        }
    };
    Ok(answer.json(&JobPage {
        data,
        next_cursor: None,
        counts: None,
    }))
}
