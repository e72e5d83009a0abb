//! Submission limits of tenants.

use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{get, put};
use serde::Deserialize;
use shared::db::{self, Pool};
use shared::id::TenantId;
use shared::submit_limit::{SubmitLimits, SubmitRate};
use shared::whole_number::WholeNumber;
use utoipa::ToSchema;

use crate::auth::Admin;
use crate::body::Json;
use crate::number;
use crate::problem::{ApiError, FieldError, Problem};

/// The maximum value of a limit. Each count reads as many rows.
const MAX: u32 = 1_000_000;

/// The submission limits of a tenant. A limit that is not given does not apply.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutSubmitLimits {
    /// The maximum number of jobs that have not ended, whether they run or not.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1_000_000)]
    max_queued: Option<WholeNumber>,
    /// The maximum rate at which jobs are submitted.
    submit_rate: Option<PutSubmitRate>,
}

/// The maximum rate at which jobs are submitted.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PutSubmitRate {
    /// The number of jobs per minute.
    #[schema(value_type = u32, minimum = 1, maximum = 1_000_000)]
    per_minute: WholeNumber,
    /// The number of jobs that can be submitted at once; the same as `per_minute` by default.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1_000_000)]
    burst: Option<WholeNumber>,
}

impl PutSubmitLimits {
    fn parse(self) -> Result<SubmitLimits, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut check = |given, pointer| number::check(given, 1..=MAX, pointer, &mut errors);
        let max_queued = check(self.max_queued, "/max_queued");
        let submit_rate = self.submit_rate.and_then(|rate| {
            let per_minute = check(Some(rate.per_minute), "/submit_rate/per_minute");
            let burst = check(rate.burst, "/submit_rate/burst");
            per_minute.map(|per_minute| SubmitRate {
                per_minute,
                burst: burst.unwrap_or(per_minute),
            })
        });
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(SubmitLimits {
            max_queued,
            submit_rate,
        })
    }
}

/// Sets the submission limits of a tenant.
///
/// Jobs that the tenant has submitted are kept. A request that exceeds a limit is refused with 429: with the code
/// `queue_full` while too many jobs have not ended, and with `submit_rate_exceeded` when jobs are submitted too fast.
/// `Retry-After` has the time after which the request can be repeated. The limits are exact over all API processes.
/// Each job of a batch counts. A request that is sent again with its `Idempotency-Key` does not count.
#[utoipa::path(tag = "admin", request_body(content = PutSubmitLimits, example = json!({"max_queued": 1000, "submit_rate": {"per_minute": 60, "burst": 20}})),
    params(("tenant_id" = TenantId, Path, description = "The tenant")),
    responses(
        (status = 200, description = "The limits", body = SubmitLimits),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[put("/tenants/{tenant_id}/submission_limits")]
pub(crate) async fn put_submission_limits(
    _: Admin,
    tenant: Path<TenantId>,
    body: Json<PutSubmitLimits>,
    pool: Data<Pool>,
) -> Result<JsonResponse<SubmitLimits>, ApiError> {
    let Json(body) = body;
    let limits = body.parse().map_err(ApiError::Invalid)?;
    if !db::submit_limit::put(&**pool, *tenant, limits).await? {
        return Err(ApiError::NotFound("tenant"));
    }
    if limits.max_queued.is_some() {
        db::submit_limit::count_earlier(&pool, *tenant).await?;
    }
    Ok(JsonResponse(limits))
}

/// Returns the submission limits of a tenant.
#[utoipa::path(tag = "admin", params(("tenant_id" = TenantId, Path, description = "The tenant")), responses(
    (status = 200, description = "The limits; null where there is none", body = SubmitLimits),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/tenants/{tenant_id}/submission_limits")]
pub(crate) async fn get_submission_limits(
    _: Admin,
    tenant: Path<TenantId>,
    pool: Data<Pool>,
) -> Result<JsonResponse<SubmitLimits>, ApiError> {
    let limits = db::submit_limit::get(&**pool, *tenant).await?;
    limits.map(JsonResponse).ok_or(ApiError::NotFound("tenant"))
}
