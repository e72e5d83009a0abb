//! Model providers and their configuration.

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

/// The built-in provider that needs no network. It runs the commands in the prompt.
pub const SCRIPT: &str = "script";

/// The API format of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProviderKind {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions, which many other servers also support.
    Openai,
}

/// A kind of file that a model can accept as input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MediaKind {
    /// PNG, JPEG, GIF and WebP.
    Image,
    /// PDF.
    Pdf,
    /// WAV and MP3. Only in the OpenAI format.
    Audio,
}

/// The request field that limits the tokens of a reply. Servers with the OpenAI format use different names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CapField {
    /// `max_tokens`, the older name. Most servers support only this name.
    MaxTokens,
    /// `max_completion_tokens`, the newer name. Newer models of OpenAI accept only this name.
    MaxCompletionTokens,
}

/// The configuration of a provider: a table `[providers.NAME]` in `skillet.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// The API format.
    pub kind: ProviderKind,
    /// The base URL of the API.
    pub base_url: String,
    /// The environment variable that contains the API key. `None` if the provider needs no key.
    #[serde(default)]
    pub key_variable: Option<String>,
    /// The kinds of files that the models accept. The default is all kinds of the API format, until the provider
    /// refuses one.
    #[serde(default)]
    pub takes: Option<Vec<MediaKind>>,
    /// The field that limits the tokens of a reply. The default depends on the host and changes if the provider
    /// refuses it.
    #[serde(default)]
    pub cap_field: Option<CapField>,
    /// The longest time without stream data before the request is repeated. The default is 60 s.
    #[serde(default)]
    pub stall_seconds: Option<NonZeroU32>,
    /// Whether the models can constrain their final message to a JSON Schema. The default is true only for the
    /// vendors' own hosts.
    #[serde(default)]
    pub structured_output: Option<bool>,
    /// The maximum number of requests per minute for an account. All workers share it.
    #[serde(default)]
    pub requests_per_minute: Option<NonZeroU32>,
    /// The maximum number of tokens read and written per minute for an account.
    #[serde(default)]
    pub tokens_per_minute: Option<NonZeroU32>,
    /// The maximum number of concurrent calls for an account.
    #[serde(default)]
    pub max_concurrent: Option<NonZeroU32>,
}

/// All configured providers by name. The built-in provider `script` always exists and is not listed.
#[derive(Clone, Debug)]
pub struct Providers {
    by_name: BTreeMap<String, Provider>,
    /// The default model.
    pub default_model: Option<ModelName>,
    /// Configured context windows. They override the built-in ones.
    pub context_windows: Vec<ContextWindow>,
    /// Prices of models. The price of a model without an entry is unknown.
    pub prices: Vec<PriceSetting>,
}

/// The reason why a model cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotConfigured {
    /// The provider does not exist.
    #[error("there is no provider `{provider}`; configured are: {}", known.join(", "))]
    UnknownProvider {
        /// The requested provider.
        provider: String,
        /// The names of all providers.
        known: Vec<String>,
    },
    /// The API key of the provider is not set.
    #[error(
        "the key of provider `{provider}` is missing: start `skillet up`, or the workers, with the variable {variable}"
    )]
    MissingKey {
        /// The provider.
        provider: String,
        /// The environment variable for the key.
        variable: String,
    },
    /// The provider `script` exists but does not have this model.
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
    /// Creates the list of providers: Anthropic, OpenAI and `others`, which can redefine the first two.
    /// `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL` override the default URLs.
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

    /// Returns the provider of a model, or `None` for `script`.
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

    /// The host and port of a model's provider.
    pub fn server(&self, model: &ModelName) -> Option<(String, Option<u16>)> {
        self.by_name.get(model.provider())?.server()
    }

    /// Creates the error for a known provider without an API key. Returns `None` if the provider needs no key.
    pub fn missing_key(&self, model: &ModelName) -> Option<NotConfigured> {
        let variable = self.by_name.get(model.provider())?.key_variable.clone()?;
        Some(NotConfigured::MissingKey {
            provider: model.provider().to_owned(),
            variable,
        })
    }

    /// The environment variable for a provider's missing key. `None` if the key is set or not needed.
    pub fn missing_variable(&self, name: &str) -> Option<&str> {
        let is_ready = self.by_name.get(name)?.is_ready();
        self.key_variable(name).filter(|_| !is_ready)
    }

    /// The environment variable for a provider's key. `None` if no key is needed.
    pub fn key_variable(&self, name: &str) -> Option<&str> {
        self.by_name.get(name)?.key_variable.as_deref()
    }

    /// The context window of the model in tokens. `None` means no limit.
    pub fn context_window(&self, model: &ModelName) -> Option<u32> {
        window::of(model, &self.context_windows)
    }

    /// The price of the model, if it is known.
    pub fn price(&self, model: &ModelName) -> Option<Price> {
        price::of(model, &self.prices)
    }

    /// The names of all providers, including `script`.
    pub fn names(&self) -> Vec<String> {
        self.by_name
            .keys()
            .cloned()
            .chain([SCRIPT.to_owned()])
            .collect()
    }

    /// The names of the providers whose key is set in the environment of this process, or that need no key.
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
    /// Creates a provider with default settings.
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

    /// Creates the default configuration of Anthropic or OpenAI. An environment variable can override the URL.
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

    /// Reads the key from the environment of this process.
    pub fn key(&self) -> Option<String> {
        self.key_variable.as_deref().and_then(variable)
    }

    fn is_ready(&self) -> bool {
        self.key_variable.is_none() || self.key().is_some()
    }
}

/// Reads an environment variable. An empty variable counts as unset.
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
