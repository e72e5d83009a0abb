//! Submit limits of tenants.

use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{get, put};
use serde::Deserialize;
use shared::db::{self, Pool};
use shared::id::TenantId;
use shared::submit_limit::{SubmitLimits, SubmitRate};
use shared::whole::Whole;
use utoipa::ToSchema;

use crate::auth::Admin;
use crate::body::Json;
use crate::number;
use crate::problem::{ApiError, FieldError, Problem};

/// The largest limit. Each count reads as many rows.
const MOST: u32 = 1_000_000;

/// The submission limits of a tenant. What is not given has no limit.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutSubmitLimits {
    /// Jobs that have not ended, whether they run or not.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1_000_000)]
    max_queued: Option<Whole>,
    /// How fast jobs may come.
    submit_rate: Option<PutSubmitRate>,
}

/// How fast jobs may come.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PutSubmitRate {
    /// Jobs that come in a minute.
    #[schema(value_type = u32, minimum = 1, maximum = 1_000_000)]
    per_minute: Whole,
    /// Jobs that may come at once; as many as in a minute if not given.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1_000_000)]
    burst: Option<Whole>,
}

impl PutSubmitLimits {
    fn parse(self) -> Result<SubmitLimits, Vec<FieldError>> {
        let mut errors = Vec::new();
        let mut check = |given, pointer| number::check(given, 1..=MOST, pointer, &mut errors);
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

/// Sets the submission limits of a tenant. Jobs that it has submitted stay.
///
/// A request above a limit is refused with 429: with the code `queue_full` while too many jobs have not ended, and
/// `submit_rate_exceeded` when they come too fast, with the time after which there is room in `Retry-After`. The
/// limits hold exactly, over all API processes. Each job of a batch counts; a request that is sent again under its
/// `Idempotency-Key` does not.
#[utoipa::path(tag = "admin", request_body(content = PutSubmitLimits, example = json!({"max_queued": 1000, "submit_rate": {"per_minute": 60, "burst": 20}})),
    params(("tenant_id" = TenantId, Path, description = "The tenant")),
    responses(
        (status = 200, description = "The limits", body = SubmitLimits),
        (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
