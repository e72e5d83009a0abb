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
    /// What a job names as its `model`. A `*` at the end stands for any rest: `anthropic/*` is every model of that
    /// provider.
    #[schema(example = "anthropic/claude-sonnet-4-5")]
    name: String,
    /// Whether jobs use it that name no model.
    default: bool,
    /// Whether a live worker has the key of its provider.
    available: bool,
    /// Whether its provider is asked as usual.
    provider_status: ProviderStatus,
    /// When the provider is asked again; null if it is ready.
    #[schema(required)]
    provider_ready_at: Option<DateTime<Utc>>,
    /// Its price; null if none is configured.
    #[schema(required)]
    price: Option<ModelPrice>,
}

/// Whether a provider is asked as usual.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum ProviderStatus {
    /// It is.
    Ready,
    /// Its quota is used up, or it has asked for a pause. Calls wait.
    Limited,
    /// It has failed repeatedly. Calls go to the next model of a job, or wait; one at a time probes.
    Down,
}

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
struct ModelPrice {
    /// Tokens that the model reads.
    input: f64,
    /// Tokens that it writes.
    output: f64,
    /// Tokens that it reads from the provider's cache.
    cache_read: f64,
    /// Tokens that are written into the provider's cache.
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

/// Which models to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListModels {
    /// Entries of a page, 1 to 100; 20 if not given.
    limit: Option<i64>,
    /// The `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists the models by name: every provider, the default model, and the models with a configured price, with the state
/// of their providers.
#[utoipa::path(tag = "models", params(ListModels), responses(
    (status = 200, description = "A page of models", body = ModelPage),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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

/// All models in the order of their names.
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
