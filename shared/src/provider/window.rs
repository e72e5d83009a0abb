//! Context windows of models.

use std::str::FromStr;

use super::SCRIPT;
use crate::model_name::ModelName;

/// Known context windows in tokens, by prefix of the model id. The first match counts.
const KNOWN: [(&str, u32); 12] = [
    ("claude", 200_000),
    ("gpt-5", 400_000),
    ("gpt-4.1", 1_000_000),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-3.5", 16_384),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini", 1_000_000),
    ("mistral", 128_000),
];
/// The context window of an unknown model.
const UNKNOWN: u32 = 128_000;
/// The smallest permitted context window. It must have room for a prompt and a reply.
const LEAST: u32 = 1_000;

/// A configured context window for all models whose names begin with a prefix: `PROVIDER/ID=TOKENS` or
/// `PROVIDER/=TOKENS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextWindow {
    beginning: String,
    tokens: u32,
}

/// The text is not a valid context window.
#[derive(Debug, thiserror::Error)]
#[error(
    "must be the beginning of a model's name, `=`, and at least {LEAST} tokens, e.g. `ollama/qwen3=40960` or `ollama/=32768`"
)]
pub struct NotAWindow;

impl FromStr for ContextWindow {
    type Err = NotAWindow;

    fn from_str(text: &str) -> Result<Self, NotAWindow> {
        let (beginning, tokens) = text.rsplit_once('=').ok_or(NotAWindow)?;
        let tokens = tokens.trim().parse().map_err(|_| NotAWindow)?;
        if !beginning.contains('/') || tokens < LEAST {
            return Err(NotAWindow);
        }
        Ok(Self {
            beginning: beginning.trim().to_owned(),
            tokens,
        })
    }
}

/// The context window of a model in tokens. `None` means no limit. If several configured windows match, the longest
/// prefix wins.
pub(super) fn of(model: &ModelName, configured: &[ContextWindow]) -> Option<u32> {
    if model.provider() == SCRIPT {
        return None;
    }
    let name = model.to_string();
    let fitting = configured
        .iter()
        .filter(|window| name.starts_with(&window.beginning));
    if let Some(window) = fitting.max_by_key(|window| window.beginning.len()) {
        return Some(window.tokens);
    }
    // Some providers put the vendor's name before the model id.
    let id = name.rsplit('/').next().unwrap_or_default();
    let known = KNOWN
        .iter()
        .find(|(beginning, _)| id.starts_with(beginning));
    Some(known.map_or(UNKNOWN, |(_, tokens)| *tokens))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_configured_counts_before_what_is_known() {
        let configured: Vec<ContextWindow> = ["ollama/=32768", "ollama/qwen3=40960"]
            .map(|text| text.parse().unwrap())
            .into();
        let window = |name: &str| of(&name.parse().unwrap(), &configured);
        assert_eq!(window("anthropic/claude-sonnet-4-5"), Some(200_000));
        assert_eq!(window("openai/gpt-5-mini"), Some(400_000));
        assert_eq!(window("openai/gpt-4-0613"), Some(8_192));
        assert_eq!(window("openrouter/anthropic/claude-haiku"), Some(200_000));
        assert_eq!(window("groq/llama-4"), Some(128_000));
        assert_eq!(window("ollama/llama-4"), Some(32_768));
        assert_eq!(window("ollama/qwen3:8b"), Some(40_960));
        assert_eq!(window("script/bash"), None);
        for wrong in [
            "",
            "ollama/",
            "ollama=5000",
            "ollama/=",
            "ollama/=-5",
            "ollama/=999",
        ] {
            assert!(wrong.parse::<ContextWindow>().is_err(), "{wrong}");
        }
    }
}
