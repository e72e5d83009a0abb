//! Short-lived tokens for one job.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, post};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use shared::db::{self, Pool};
use shared::id::JobId;
use shared::key::random_token;
use shared::whole_number::WholeNumber;
use utoipa::ToSchema;

use super::find;
use crate::auth::Caller;
use crate::body::Json;
use crate::number;
use crate::problem::{ApiError, Problem};

const DEFAULT_SECONDS: i32 = 3600;
const MAX_SECONDS: i32 = 86_400;

/// The request to create a token for a job.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateJobToken {
    /// The lifetime of the token in seconds; 3,600 by default.
    #[schema(value_type = Option<i32>, minimum = 1, maximum = 86_400)]
    expires_in_seconds: Option<WholeNumber>,
}

/// A token that can read one job.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobToken {
    /// The token, for the query parameter `token`. It cannot be read again.
    #[schema(example = "tok_…")]
    token: String,
    /// When the token expires. A stream that is open at that time continues.
    expires_at: DateTime<Utc>,
    /// The URL of the job's stream with the token, relative to the service.
    stream_url: String,
}

/// Creates a short-lived token for one job.
///
/// With the token, an application can give the browsers of its own users access to the stream and the files of the
/// job. As the query parameter `token`, it replaces the API key for `GET /v1/jobs/{job_id}`, its `/events` and
/// `/stream`, and for `GET /v1/assets/{asset_id}/content` of files that the job made or that came with its request.
/// It is valid for nothing else. It ends when it expires, or when the API key that created it is revoked.
#[utoipa::path(tag = "jobs", request_body(content = CreateJobToken, example = json!({"expires_in_seconds": 600})),
    params(("job_id" = JobId, Path, description = "The job")),
    responses(
        (status = 201, description = "The token", body = JobToken),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/jobs/{job_id}/tokens")]
pub(crate) async fn create_job_token(
    caller: Caller,
    pool: Data<Pool>,
    job: Path<JobId>,
    body: Json<CreateJobToken>,
) -> Result<HttpResponse, ApiError> {
    let mut errors = Vec::new();
    let range = 1..=MAX_SECONDS;
    let given = body.0.expires_in_seconds;
    let seconds = number::check(given, range, "/expires_in_seconds", &mut errors);
    if !errors.is_empty() {
        return Err(ApiError::Invalid(errors));
    }
    let seconds = seconds.unwrap_or(DEFAULT_SECONDS);
    let job = find(&pool, caller.tenant, *job).await?.id;
    let token = format!("tok_{}", random_token());
    let mut transaction = pool.begin().await?;
    let expires_at =
        db::job_token::insert(&mut transaction, caller.key, job, &token, seconds).await?;
    transaction.commit().await?;
    Ok(HttpResponse::Created().json(JobToken {
        stream_url: format!("/v1/jobs/{job}/stream?token={token}"),
        token,
        expires_at,
    }))
}
