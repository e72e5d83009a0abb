//! Budgets of tenants.

use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{get, put};
use serde::Deserialize;
use shared::budget::{TenantBudget, TenantLimits};
use shared::db::{self, Pool};
use shared::id::TenantId;
use shared::money::Usd;
use shared::whole_number::WholeNumber;
use utoipa::ToSchema;

use crate::auth::Admin;
use crate::body::Json;
use crate::number;
use crate::problem::{ApiError, FieldError, Problem};
use crate::v1::jobs::MAX_TOKENS;

/// The budget of a tenant for a calendar month (UTC). A limit that is not given does not apply.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PutTenantBudget {
    /// The maximum number of tokens read and written by all jobs of the tenant.
    #[schema(value_type = Option<u64>, minimum = 0, maximum = 1_000_000_000_000_u64)]
    max_total_tokens: Option<WholeNumber>,
    /// The maximum cost of all jobs of the tenant, in US dollars. With this limit, jobs are refused if the price of a
    /// model is not configured.
    #[schema(minimum = 0, maximum = 1_000_000)]
    max_cost_usd: Option<f64>,
}

impl PutTenantBudget {
    fn parse(self) -> Result<TenantLimits, Vec<FieldError>> {
        let mut errors = Vec::new();
        let max_total_tokens = number::check(
            self.max_total_tokens,
            0..=MAX_TOKENS,
            "/max_total_tokens",
            &mut errors,
        );
        let cost = self.max_cost_usd.and_then(Usd::from_f64);
        let cost = cost.filter(|cost| *cost <= Usd::MILLION);
        if self.max_cost_usd.is_some() && cost.is_none() {
            errors.push(FieldError::new(
                "/max_cost_usd",
                "must be from 0 to 1000000",
            ));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(TenantLimits {
            max_total_tokens,
            max_cost_usd: cost,
        })
    }
}

/// Sets the budget of a tenant for a calendar month (UTC).
///
/// Usage counts from the first budget on. A change keeps what the tenant has already used this month. No model reply is
/// started that could exceed the budget, on any worker. A job that reaches the budget completes with its results so
/// far, and with the `stop_reason` `tenant_budget`. When nothing is left, new jobs are refused with 429. Without any
/// limit there is no budget, and usage is not counted. Running jobs follow a change within two seconds.
#[utoipa::path(tag = "admin", request_body(content = PutTenantBudget, example = json!({"max_total_tokens": 10_000_000})),
    params(("tenant_id" = TenantId, Path, description = "The tenant")),
    responses(
        (status = 200, description = "The budget", body = TenantBudget),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[put("/tenants/{tenant_id}/budget")]
pub(crate) async fn put_tenant_budget(
    _: Admin,
    tenant: Path<TenantId>,
    body: Json<PutTenantBudget>,
    pool: Data<Pool>,
) -> Result<JsonResponse<TenantBudget>, ApiError> {
    let Json(body) = body;
    let limits = body.parse().map_err(ApiError::Invalid)?;
    if !db::budget::put(&**pool, *tenant, limits).await? {
        return Err(ApiError::NotFound("tenant"));
    }
    find(&pool, *tenant).await.map(JsonResponse)
}

/// Returns the monthly budget of a tenant, and what the tenant has used of it.
#[utoipa::path(tag = "admin", params(("tenant_id" = TenantId, Path, description = "The tenant")), responses(
    (status = 200, description = "The budget; without limits if there is none", body = TenantBudget),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/tenants/{tenant_id}/budget")]
pub(crate) async fn get_tenant_budget(
    _: Admin,
    tenant: Path<TenantId>,
    pool: Data<Pool>,
) -> Result<JsonResponse<TenantBudget>, ApiError> {
    find(&pool, *tenant).await.map(JsonResponse)
}

async fn find(pool: &Pool, tenant: TenantId) -> Result<TenantBudget, ApiError> {
    let budget = db::budget::get(pool, tenant).await?;
    budget.ok_or(ApiError::NotFound("tenant"))
}
