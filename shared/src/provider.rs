//! Model providers.

mod account;
mod price;
mod window;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::Deserialize;

use crate::model_name::ModelName;

pub use account::AccountLimits;
pub use price::{NotAPrice, Price, PriceSetting};
pub use window::{ContextWindow, NotAWindow};

/// The provider that needs no network: it runs the prompt's own commands.
pub const SCRIPT: &str = "script";

/// A wire format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, which many others speak too.
    Openai,
}

/// A kind of file that a model may look at itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// PNG, JPEG, GIF and WebP.
    Image,
    /// PDF.
    Pdf,
    /// WAV and MP3; OpenAI's format only.
    Audio,
}

/// The name of the field that caps a reply, where servers of OpenAI's format differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapField {
    /// The older name, all that most servers know.
    MaxTokens,
    /// The newer name, all that OpenAI's newer models take.
    MaxCompletionTokens,
}

/// The configuration of a provider: a table `[providers.NAME]` of `skillet.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The wire format.
    pub kind: ProviderKind,
    /// Its address.
    pub base_url: String,
    /// The environment variable with its key; none if it needs none.
    #[serde(default)]
    pub key_variable: Option<String>,
    /// Media types that its models accept. Without it, all that the format has, until the provider refuses one.
    #[serde(default)]
    pub takes: Option<Vec<MediaKind>>,
    /// The field that caps a reply; if not given, the one that fits the host, until it is refused.
    #[serde(default)]
    pub cap_field: Option<CapField>,
    /// The longest silence of a stream before the request is repeated; 60 s by default.
    #[serde(default)]
    pub stall_seconds: Option<NonZeroU32>,
    /// Whether its models can be sent a JSON Schema for their last message; if not given, the vendors' own can.
    #[serde(default)]
    pub structured_output: Option<bool>,
    /// Requests per minute of an account, which all workers share.
    #[serde(default)]
    pub requests_per_minute: Option<NonZeroU32>,
    /// Tokens per minute of an account, read and written.
    #[serde(default)]
    pub tokens_per_minute: Option<NonZeroU32>,
    /// Calls in progress at once of an account.
    #[serde(default)]
    pub max_concurrent: Option<NonZeroU32>,
}

/// All providers by name. `script` is always there and not listed.
#[derive(Clone, Debug)]
pub struct Providers {
    by_name: BTreeMap<String, Provider>,
    /// The default model.
    pub default_model: Option<ModelName>,
    /// Configured context windows, which override the known ones.
    pub context_windows: Vec<ContextWindow>,
    /// Prices of models. A model that is not listed has no known price.
    pub prices: Vec<PriceSetting>,
}

/// Why a model cannot be asked.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotConfigured {
    /// There is no such provider.
    #[error("there is no provider `{provider}`; configured are: {}", known.join(", "))]
    UnknownProvider {
        /// The request.
        provider: String,
        /// The known names.
        known: Vec<String>,
    },
    /// The provider's key is not set.
    #[error(
        "the key of provider `{provider}` is missing: start `skillet up`, or the workers, with the variable {variable}"
    )]
    MissingKey {
        /// The provider.
        provider: String,
        /// The environment variable with the key.
        variable: String,
    },
    /// The provider is there, but not this model.
    #[error("provider `script` has only the model `script/bash`")]
    UnknownScript,
}

/// The price of a model is not configured.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the price of `{0}` is not known: set SKILLET_PRICES, or `prices` in skillet.toml, for the API and the workers, \
     e.g. `{0}=3:15` for dollars for a million tokens read and written"
)]
pub struct UnknownPrice(pub ModelName);

impl Providers {
    /// Anthropic and OpenAI at their usual places or where `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL`
    /// say, and `others`, which may redefine those two.
    pub fn new(others: BTreeMap<String, Provider>, default_model: Option<ModelName>) -> Self {
        let usual = ["anthropic", "openai"];
        let usual = usual.map(|name| Some((name.to_owned(), Provider::usual(name)?)));
        let mut by_name: BTreeMap<String, Provider> = usual.into_iter().flatten().collect();
        by_name.extend(others);
        Self {
            by_name,
            default_model,
            context_windows: Vec::new(),
            prices: Vec::new(),
        }
    }

    /// The provider of the model; `None` stands for `script`.
    pub fn find(&self, model: &ModelName) -> Result<Option<&Provider>, NotConfigured> {
        if model.provider() == SCRIPT {
            return if model.id() == "bash" {
                Ok(None)
            } else {
                Err(NotConfigured::UnknownScript)
            };
        }
        let found = self.by_name.get(model.provider()).map(Some);
        found.ok_or_else(|| NotConfigured::UnknownProvider {
            provider: model.provider().to_owned(),
            known: self.names(),
        })
    }

    /// The host and the port of a model's provider.
    pub fn server(&self, model: &ModelName) -> Option<(String, Option<u16>)> {
        self.by_name.get(model.provider())?.server()
    }

    /// The error for a model whose provider is known and has no key where it was looked for.
    pub fn missing_key(&self, model: &ModelName) -> Option<NotConfigured> {
        let variable = self.by_name.get(model.provider())?.key_variable.clone()?;
        Some(NotConfigured::MissingKey {
            provider: model.provider().to_owned(),
            variable,
        })
    }

    /// The variable that a provider's key is missing in; `None` if it needs none or has one.
    pub fn missing_variable(&self, name: &str) -> Option<&str> {
        let is_ready = self.by_name.get(name)?.is_ready();
        self.key_variable(name).filter(|_| !is_ready)
    }

    /// The variable that a provider's key is looked for in; `None` if it needs none.
    pub fn key_variable(&self, name: &str) -> Option<&str> {
        self.by_name.get(name)?.key_variable.as_deref()
    }

    /// The context window of the model in tokens; `None` for no limit.
    pub fn context_window(&self, model: &ModelName) -> Option<u32> {
        window::of(model, &self.context_windows)
    }

    /// The price of the model, if it is known.
    pub fn price(&self, model: &ModelName) -> Option<Price> {
        price::of(model, &self.prices)
    }

    /// All names.
    pub fn names(&self) -> Vec<String> {
        self.by_name
            .keys()
            .cloned()
            .chain([SCRIPT.to_owned()])
            .collect()
    }

    /// The names of those that can be asked with the environment of this process.
    pub fn ready(&self) -> Vec<String> {
        let ready = self
            .by_name
            .iter()
            .filter(|(_, provider)| provider.is_ready());
        ready
            .map(|(name, _)| name.clone())
            .chain([SCRIPT.to_owned()])
            .collect()
    }
}

impl Provider {
    /// A provider with nothing special about it.
    pub fn new(kind: ProviderKind, base_url: String, key_variable: Option<String>) -> Self {
        Self {
            kind,
            base_url,
            key_variable,
            takes: None,
            cap_field: None,
            stall_seconds: None,
            structured_output: None,
            requests_per_minute: None,
            tokens_per_minute: None,
            max_concurrent: None,
        }
    }

    /// Anthropic or OpenAI, at its usual place or where its variable says.
    pub fn usual(name: &str) -> Option<Self> {
        let (kind, url_variable, url, key) = match name {
            "anthropic" => (
                ProviderKind::Anthropic,
                "ANTHROPIC_BASE_URL",
                "https://api.anthropic.com",
                "ANTHROPIC_API_KEY",
            ),
            "openai" => (
                ProviderKind::Openai,
                "OPENAI_BASE_URL",
                "https://api.openai.com/v1",
                "OPENAI_API_KEY",
            ),
            _ => return None,
        };
        let base_url = variable(url_variable).unwrap_or_else(|| url.to_owned());
        Some(Self::new(kind, base_url, Some(key.to_owned())))
    }

    /// The key out of the environment of this process.
    pub fn key(&self) -> Option<String> {
        self.key_variable.as_deref().and_then(variable)
    }

    fn is_ready(&self) -> bool {
        self.key_variable.is_none() || self.key().is_some()
    }
}

/// A variable that is set to nothing is not set.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_provider_is_told_which_there_are() {
        let ollama = Provider::new(ProviderKind::Openai, "http://h/v1".into(), None);
        let providers = Providers::new(
            BTreeMap::from([("ollama".to_owned(), ollama.clone())]),
            None,
        );
        let model = |text: &str| text.parse::<ModelName>().unwrap();
        assert_eq!(providers.find(&model("ollama/qwen3")), Ok(Some(&ollama)));
        assert_eq!(providers.find(&model("script/bash")), Ok(None));
        assert_eq!(
            providers.find(&model("script/fish")),
            Err(NotConfigured::UnknownScript)
        );
        assert_eq!(
            providers
                .find(&model("olama/qwen3"))
                .unwrap_err()
                .to_string(),
            "there is no provider `olama`; configured are: anthropic, ollama, openai, script",
        );
        assert!(providers.ready().contains(&"ollama".to_owned()));
    }

    #[test]
    fn what_servers_differ_in_can_be_set_and_need_not_be() {
        let read = |more: serde_json::Value| {
            let mut table = serde_json::json!({"kind": "openai", "base_url": "http://h/v1"});
            table
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            serde_json::from_value::<Provider>(table)
        };
        let plain = Provider::new(ProviderKind::Openai, "http://h/v1".into(), None);
        assert_eq!(read(serde_json::json!({})).unwrap(), plain);
        let set = serde_json::json!({
            "takes": ["image", "pdf"],
            "cap_field": "max_completion_tokens",
            "stall_seconds": 300,
            "requests_per_minute": 50,
        });
        let expected = Provider {
            takes: Some(vec![MediaKind::Image, MediaKind::Pdf]),
            cap_field: Some(CapField::MaxCompletionTokens),
            stall_seconds: NonZeroU32::new(300),
            requests_per_minute: NonZeroU32::new(50),
            ..plain
        };
        assert_eq!(read(set).unwrap(), expected);
        for wrong in [
            serde_json::json!({"stall_seconds": 0}),
            serde_json::json!({"max_concurrent": 0}),
            serde_json::json!({"takes": ["video"]}),
            serde_json::json!({"cap": "max_tokens"}),
        ] {
            assert!(read(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
