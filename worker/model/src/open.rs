//! The client of a model, by the model's name.

use reqwest::Client;
use shared::model_name::ModelName;
use shared::provider::{NotConfigured, ProviderKind, Providers};

use super::anthropic::Anthropic;
use super::openai::OpenAi;
use super::script::Script;
use super::{LanguageModel, LearnedLimits};

/// Opens the model with this name, with the key of its provider from the environment.
pub fn open(
    providers: &Providers,
    http: &Client,
    name: &ModelName,
    learned: LearnedLimits,
) -> Result<Box<dyn LanguageModel>, NotConfigured> {
    let Some(provider) = providers.find(name)? else {
        return Ok(Box::new(Script));
    };
    let key = provider.key();
    if let (None, Some(error)) = (&key, providers.missing_key(name)) {
        return Err(error);
    }
    let (http, full_name) = (http.clone(), name.to_string());
    Ok(match provider.kind {
        ProviderKind::Anthropic => {
            let key = key.unwrap_or_default();
            let model = Anthropic::new(http, provider, &key, name.id(), full_name);
            Box::new(model.learning(learned))
        }
        ProviderKind::Openai => {
            let model = OpenAi::new(http, provider, key.as_deref(), name.id(), full_name);
            Box::new(model.learning(learned))
        }
    })
}
