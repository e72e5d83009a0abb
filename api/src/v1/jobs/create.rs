use std::time::Duration;

use actix_web::http::StatusCode;
use actix_web::http::header::LOCATION;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, post};
use shared::asset::AssetStore;
use shared::id::TenantId;
use shared::job::Job;
use shared::provider::Providers;
use shared::skill::Catalog;
use sqlx::PgPool;
use tokio::time::timeout;

use super::intake::{Intake, Key, Made, Shape, digest};
use super::request::CreateJob;
use super::{find, header};
use crate::auth::Caller;
use crate::body::Json;
use crate::doorbell::Doorbell;
use crate::follower::Follower;
use crate::hub::Hub;
use crate::problem::{ApiError, Problem};

/// Creates a job. 202 means that it is stored and will be run, whatever happens to the service.
///
/// With `Idempotency-Key`, the same request sent again (within 24 hours) is answered with the same job, and
/// another request under the same key is refused. With `Prefer: wait=n` the answer comes when the job has
/// ended, or after n seconds (at most 60) with the job as it stands.
#[utoipa::path(tag = "jobs", request_body = CreateJob,
    params(
        ("Idempotency-Key" = Option<String>, Header, description = "Names the request, so that it can be sent again"),
        ("Prefer" = Option<String>, Header, description = "`wait=n`: answer when the job has ended, or after n seconds"),
    ),
    responses(
        (status = 202, description = "The job, accepted", body = Job,
            headers(("Location" = String, description = "The job's path"))),
        (status = 200, description = "The job, ended (`Prefer: wait`), or the one that this key made before", body = Job),
        (status = 429, description = "The tenant has used up its budget for this month (`budget_exceeded`), hands in jobs too \
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
    body: Json<CreateJob>,
    pool: Data<PgPool>,
    assets: Data<AssetStore>,
    catalog: Data<Catalog>,
    providers: Data<Providers>,
    hub: Data<Hub>,
    doorbell: Data<Doorbell>,
    http: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let Json(create) = body;
    let key = match header::key(&http)? {
        Some(text) => Some(Key {
            text,
            digest: digest(&create)?,
        }),
        None => None,
    };
    let intake = Intake {
        caller: &caller,
        pool: &pool,
        assets: &assets,
        catalog: &catalog,
        providers: &providers,
    };
    let (status, job) = match intake.submit(Shape::One, vec![create], key).await? {
        Made::Now(mut jobs) => {
            doorbell.ring();
            (StatusCode::ACCEPTED, jobs.swap_remove(0))
        }
        Made::Before(jobs) => (StatusCode::OK, find(&pool, caller.tenant, jobs[0]).await?),
    };
    let job = match header::wait(&http) {
        Some(patience) => wait_for_end(&pool, &hub, caller.tenant, job, patience).await?,
        None => job,
    };
    let has_ended = job.status.is_terminal();
    Ok(answer(
        if has_ended { StatusCode::OK } else { status },
        &job,
    ))
}

/// The job, when it has ended or the patience has.
async fn wait_for_end(
    pool: &PgPool,
    hub: &Hub,
    tenant: TenantId,
    job: Job,
    patience: Duration,
) -> Result<Job, ApiError> {
    let mut follower = Follower::new(pool.clone(), hub.clone(), job.id, 1);
    let to_the_end = async {
        while follower.next().await?.is_some() {}
        Ok::<_, sqlx::Error>(())
    };
    if let Ok(Err(error)) = timeout(patience, to_the_end).await {
        return Err(error.into());
    }
    find(pool, tenant, job.id).await
}

pub(super) fn answer(status: StatusCode, job: &Job) -> HttpResponse {
    HttpResponse::build(status)
        .insert_header((LOCATION, format!("/v1/jobs/{}", job.id)))
        .json(job)
}
