//! `/v1/me`: the key of the request and its tenant.

use actix_web::get;
use actix_web::web::{Data, Json};
use serde::Serialize;
use shared::budget::TenantBudget;
use shared::db::tenant::Tenant;
use shared::db::{self, Pool};
use shared::id::KeyId;
use shared::key::Scope;
use shared::money::Usd;
use shared::submit_limit::SubmitLimits;
use utoipa::ToSchema;

use crate::auth::JobsOrAdmin;
use crate::problem::{ApiError, Problem};

/// The API key of a request, its tenant, and the tenant's limits.
#[derive(Serialize, ToSchema)]
pub(crate) struct Me {
    /// The API key of the request.
    key: MyKey,
    /// The tenant of the key.
    tenant: Tenant,
    /// The tenant's limits on the submission of jobs.
    submission_limits: SubmitLimits,
    /// The tenant's budget for this calendar month (UTC).
    budget: TenantBudget,
    /// The rest of the budget. Amounts that are reserved for model calls in progress count as used.
    budget_left: BudgetLeft,
}

/// The API key of a request.
#[derive(Serialize, ToSchema)]
struct MyKey {
    /// The identifier of the key.
    id: KeyId,
    /// The name of the key.
    name: String,
    /// The scopes of the key.
    scopes: Vec<Scope>,
}

/// The rest of a budget.
#[derive(Serialize, ToSchema)]
struct BudgetLeft {
    /// The remaining tokens, read and written; null if there is no limit.
    #[schema(required)]
    total_tokens: Option<u64>,
    /// The remaining US dollars; null if there is no limit.
    #[schema(required)]
    cost_usd: Option<Usd>,
}

/// Returns the API key of the request, its tenant, and the tenant's limits and budget.
#[utoipa::path(tag = "session", responses(
    (status = 200, description = "The key, its tenant, limits and budget", body = Me),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/me")]
pub(crate) async fn get_me(caller: JobsOrAdmin, pool: Data<Pool>) -> Result<Json<Me>, ApiError> {
    let JobsOrAdmin(key) = caller;
    let absent = || ApiError::NotFound("tenant");
    let tenant = db::tenant::get(&**pool, key.tenant).await?;
    let submission_limits = db::submit_limit::get(&**pool, key.tenant).await?;
    let budget = db::budget::get(&**pool, key.tenant)
        .await?
        .ok_or_else(absent)?;
    let left = budget.free();
    Ok(Json(Me {
        key: MyKey {
            id: key.id,
            name: key.name,
            scopes: key.scopes,
        },
        tenant: tenant.ok_or_else(absent)?,
        submission_limits: submission_limits.ok_or_else(absent)?,
        budget,
        budget_left: BudgetLeft {
            total_tokens: left.tokens,
            cost_usd: left.cost,
        },
    }))
}
