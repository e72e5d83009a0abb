//! The budget check before a job is accepted.

use shared::db::{self, Pool};
use shared::model_list::ModelList;
use shared::provider::{Providers, UnknownPrice};

use crate::auth::Caller;
use crate::problem::{ApiError, FieldError};

/// Refuses jobs of a tenant without budget left. Returns an error for each model without a known price if the budget
/// limits costs. Queries the database only if the tenant has a budget.
pub(super) async fn check_budget(
    caller: &Caller,
    models: impl Iterator<Item = &ModelList>,
    pool: &Pool,
    providers: &Providers,
) -> Result<Vec<(usize, FieldError)>, ApiError> {
    if !caller.has_budget {
        return Ok(Vec::new());
    }
    let Some(budget) = db::budget::get(pool, caller.tenant).await? else {
        return Ok(Vec::new());
    };
    if budget.is_exhausted() {
        let renewed_at = budget.renewed_at();
        return Err(ApiError::BudgetExceeded { renewed_at });
    }
    if budget.limits.max_cost_usd.is_none() {
        return Ok(Vec::new());
    }
    let unknown = models.enumerate().filter_map(|(place, models)| {
        let mut models = models.iter();
        let model = models.find(|model| providers.price(model).is_none())?;
        Some((place, model))
    });
    let wrong = unknown.map(|(place, model)| {
        let detail = UnknownPrice(model.clone()).to_string();
        (place, FieldError::new("/model", detail))
    });
    Ok(wrong.collect())
}
