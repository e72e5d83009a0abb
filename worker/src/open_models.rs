//! The models of an attempt: the first choice, then its fallbacks.

use std::sync::Arc;

use serde_json::Value;
use shared::db::claim::Claimed;
use shared::job::{JobError, JobErrorCode};
use shared::model_list::ModelList;
use shared::model_name::ModelName;
use worker_model::LanguageModel;

use crate::provider::ProviderAccount;
use crate::telemetry::CalledModel;
use crate::worker_context::WorkerContext;

/// The models of an attempt. There is at least one.
pub(crate) struct OpenModels {
    models: Vec<OpenModel>,
    /// The reasons why models of the list are missing, as sentences.
    pub(crate) missing: Vec<String>,
}

/// A model that can be called.
pub(crate) struct OpenModel {
    pub(crate) name: ModelName,
    pub(crate) client: Box<dyn LanguageModel>,
    /// `None` for the provider that needs no network.
    pub(crate) account: Option<Arc<ProviderAccount>>,
    /// The host and the port of the provider.
    pub(crate) server: Option<(String, Option<u16>)>,
}

/// Returns the models that a job names.
pub(crate) fn models_of(claimed: &Claimed) -> ModelList {
    let several = claimed.request.models.clone();
    several.unwrap_or_else(|| claimed.job.model.clone().into())
}

impl<'a> From<&'a OpenModel> for CalledModel<'a> {
    fn from(model: &'a OpenModel) -> Self {
        Self {
            name: &model.name,
            server: model.server.as_ref(),
        }
    }
}

impl OpenModels {
    /// Opens the models of a job. A model that this worker cannot call is left out. A job without any model fails.
    pub(crate) fn open(context: &WorkerContext, claimed: &Claimed) -> Result<Self, JobError> {
        let names = models_of(claimed);
        let last = names.iter().count() - 1;
        let (mut models, mut missing) = (Vec::new(), Vec::new());
        for (place, name) in names.iter().enumerate() {
            let http = if place < last {
                &context.impatient_http
            } else {
                &context.http
            };
            let learned = context.learned_limits.clone();
            match worker_model::open(&context.providers, http, name, learned) {
                Ok(client) => models.push(OpenModel {
                    name: name.clone(),
                    client,
                    account: context.accounts.of(name, &context.providers),
                    server: context.providers.server(name),
                }),
                Err(error) => missing.push(error.to_string()),
            }
        }
        if models.is_empty() {
            return Err(JobErrorCode::ModelNotConfigured.with(missing.join("; ")));
        }
        Ok(Self { models, missing })
    }

    /// Returns the first choice.
    pub(crate) fn first(&self) -> &dyn LanguageModel {
        &*self.models[0].client
    }

    /// Returns all models in order.
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, OpenModel> {
        self.models.iter()
    }

    /// Whether the last message of each model can be constrained to this JSON Schema.
    pub(crate) fn constrain_output(&self, schema: &Value) -> bool {
        let mut models = self.models.iter();
        models.all(|model| model.client.constrains_output(schema))
    }
}
