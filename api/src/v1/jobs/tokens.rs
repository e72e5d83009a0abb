//! Short-lived tokens for one job.

use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, post};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use shared::db::{self, Pool};
use shared::id::JobId;
use shared::key::random_token;
use shared::whole::Whole;
use utoipa::ToSchema;

use super::find;
use crate::auth::Caller;
use crate::body::Json;
use crate::number;
use crate::problem::{ApiError, Problem};

const DEFAULT_SECONDS: i32 = 3600;
const MAX_SECONDS: i32 = 86_400;

/// Options of a new token.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateJobToken {
    /// Seconds until it expires; 3,600 if not given.
    #[schema(value_type = Option<i32>, minimum = 1, maximum = 86_400)]
    expires_in_seconds: Option<Whole>,
}

/// A token that reads one job.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobToken {
    /// The token, for the query parameter `token`. It cannot be read again.
    #[schema(example = "tok_…")]
    token: String,
    /// When it expires. A stream that is open then goes on.
    expires_at: DateTime<Utc>,
    /// The address of the job's stream with the token, relative to the service.
    stream_url: String,
}

/// Makes a short-lived token for one job, so that a product can hand the job's stream and files to its own users'
/// browsers.
///
/// As the query parameter `token`, it replaces the key for `GET /v1/jobs/{job_id}`, its `/events` and `/stream`, and
/// `GET /v1/assets/{asset_id}/content` of files that the job made or came with, and for nothing else. It ends when it
/// expires, or when the key that made it is revoked.
#[utoipa::path(tag = "jobs", request_body(content = CreateJobToken, example = json!({"expires_in_seconds": 600})),
    params(("job_id" = JobId, Path, description = "The job")),
    responses(
        (status = 201, description = "The token", body = JobToken),
        (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
