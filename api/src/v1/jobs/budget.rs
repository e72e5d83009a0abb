//! Whether a tenant may have another job.

use shared::db;
use shared::model_name::ModelName;
use shared::provider::{Providers, UnknownPrice};
use sqlx::PgPool;

use crate::auth::Caller;
use crate::problem::ApiError;

/// Refuses a job whose tenant has used up its budget, or of whose model nobody knows how much of it is taken. Looks
/// only if there is a budget.
pub(super) async fn check_budget(
    caller: &Caller,
    model: &ModelName,
    pool: &PgPool,
    providers: &Providers,
) -> Result<(), ApiError> {
    if !caller.has_budget {
        return Ok(());
    }
    let Some(budget) = db::budget::get(pool, caller.tenant).await? else {
        return Ok(());
    };
    if budget.is_exhausted() {
        let renewed_at = budget.renewed_at();
        return Err(ApiError::BudgetExceeded { renewed_at });
    }
    if budget.limits.max_cost_usd.is_some() && providers.price(model).is_none() {
        return Err(ApiError::field("/model", UnknownPrice(model.clone())));
    }
    Ok(())
}
