//! `/v1/models`

use std::collections::BTreeMap;

use actix_web::get;
use actix_web::web::{Data, Json};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use shared::db::provider::ProviderCondition;
use shared::db::worker::Worker;
use shared::db::{self, Pool};
use shared::provider::{Price, Providers, SCRIPT};
use utoipa::{IntoParams, ToSchema};

use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query::Query;

type ModelPage = Page<Model>;

/// A model, or all models of a provider.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub(crate) struct Model {
    /// The name for the field `model` of a job. `*` at the end stands for any text: `anthropic/*` is every model of
    /// that provider.
    #[schema(example = "anthropic/claude-sonnet-4-5")]
    name: String,
    /// Whether this is the default model of the service.
    default: bool,
    /// Whether a live worker has the API key of the provider.
    available: bool,
    /// The status of the provider.
    provider_status: ProviderStatus,
    /// When the provider is called again; null if it is ready.
    #[schema(required)]
    provider_ready_at: Option<DateTime<Utc>>,
    /// The price; null if none is configured.
    #[schema(required)]
    price: Option<ModelPrice>,
}

/// The status of a provider.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ProviderStatus {
    /// The provider is called as usual.
    Ready,
    /// The quota is used up, or the provider has asked for a pause. Calls wait.
    Limited,
    /// The provider failed repeatedly. Calls go to the next model of the job, or wait. One call at a time probes the
    /// provider.
    Down,
}

/// Prices in US dollars per million tokens.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
struct ModelPrice {
    /// Tokens read by the model.
    input: f64,
    /// Tokens written by the model.
    output: f64,
    /// Tokens read from the provider's cache.
    cache_read: f64,
    /// Tokens written to the provider's cache.
    cache_write: f64,
}

impl From<Price> for ModelPrice {
    fn from(price: Price) -> Self {
        let [input, output, cache_read, cache_write] = price.dollars();
        Self {
            input,
            output,
            cache_read,
            cache_write,
        }
    }
}

/// Query parameters for a list of models.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListModels {
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the models by name.
///
/// The list has every provider, the default model and the models with a configured price, with the status of their
/// providers.
#[utoipa::path(tag = "models", params(ListModels), responses(
    (status = 200, description = "A page of models", body = ModelPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/models")]
pub(crate) async fn list_models(
    _: Caller,
    pool: Data<Pool>,
    providers: Data<Providers>,
    query: Query<ListModels>,
) -> Result<Json<ModelPage>, ApiError> {
    let limit = cursor::limit(query.limit)?;
    let after = cursor::text(query.cursor.as_deref())?;
    let workers = db::worker::list(&**pool).await?;
    let conditions = db::provider::list_conditions(&**pool).await?;
    let models = all(&providers, &workers, &conditions);
    let page = Page::of_all(models, after.as_deref(), limit, |model| model.name.clone());
    Ok(Json(page))
}

/// Returns all models in the order of their names.
fn all(providers: &Providers, workers: &[Worker], conditions: &[ProviderCondition]) -> Vec<Model> {
    let default = providers.default_model.as_ref();
    let mut prices: BTreeMap<String, Option<Price>> = BTreeMap::new();
    for provider in providers.names() {
        let name = match provider.as_str() {
            SCRIPT => format!("{SCRIPT}/bash"),
            provider => format!("{provider}/*"),
        };
        prices.insert(name, (provider == SCRIPT).then_some(Price::FREE));
    }
    for priced in &providers.prices {
        prices.insert(priced.pattern(), Some(priced.price()));
    }
    if let Some(model) = default {
        let price = providers.price(model);
        prices.insert(model.to_string(), price);
    }
    let default = default.map(ToString::to_string);
    let models = prices.into_iter().map(|(name, price)| {
        let provider = name.split('/').next().unwrap_or_default();
        let has_provider = |worker: &Worker| worker.providers.iter().any(|it| it == provider);
        let condition = conditions.iter().find(|it| it.provider == provider);
        let (provider_status, provider_ready_at) = status(condition);
        Model {
            default: default.as_ref() == Some(&name),
            available: workers.iter().any(has_provider),
            provider_status,
            provider_ready_at,
            price: price.map(ModelPrice::from),
            name,
        }
    });
    models.collect()
}

fn status(condition: Option<&ProviderCondition>) -> (ProviderStatus, Option<DateTime<Utc>>) {
    match condition {
        Some(ProviderCondition {
            open_until: Some(until),
            ..
        }) => (ProviderStatus::Down, Some(*until)),
        Some(ProviderCondition {
            limited_until: Some(until),
            ..
        }) => (ProviderStatus::Limited, Some(*until)),
        _ => (ProviderStatus::Ready, None),
    }
}
