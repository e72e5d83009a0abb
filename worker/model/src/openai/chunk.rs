//! The chunks of a Chat Completions stream, read with the leniency that its many servers need.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use shared::message::Tokens;

/// One chunk; the last may have a usage and no choices.
#[derive(Deserialize)]
pub(super) struct Chunk {
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) usage: Option<OpenAiUsage>,
}

/// The only choice, as we ask for one.
#[derive(Deserialize)]
pub(super) struct Choice {
    pub(super) delta: Option<Delta>,
    /// In place of `delta` where a server does not stream.
    pub(super) message: Option<Delta>,
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) finish_reason: Option<String>,
}

/// The new part of a reply.
#[derive(Deserialize)]
pub(super) struct Delta {
    pub(super) content: Option<Content>,
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) refusal: Option<String>,
    /// DeepSeek, vLLM and others.
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) reasoning_content: Option<String>,
    /// OpenRouter, Groq, Ollama and newer vLLM.
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) reasoning: Option<String>,
    /// OpenRouter: the thoughts with their signatures.
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) reasoning_details: Option<Vec<Value>>,
    pub(super) tool_calls: Option<Vec<CallDelta>>,
    /// The predecessor of `tool_calls`.
    pub(super) function_call: Option<Function>,
}

/// Text, or with Mistral's thinking models a list of parts.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

/// Text or thought.
#[derive(Deserialize)]
pub(super) struct ContentPart {
    pub(super) text: Option<String>,
    pub(super) thinking: Option<Vec<ContentPart>>,
}

/// A piece of a call, or a whole one; everything may be missing.
#[derive(Default, Deserialize)]
pub(super) struct CallDelta {
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) index: Option<u64>,
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) id: Option<String>,
    pub(super) function: Option<Function>,
    /// Gemini's thought signature, wanted back with the call.
    pub(super) extra_content: Option<Value>,
}

/// A piece of name and arguments.
#[derive(Default, Deserialize)]
pub(super) struct Function {
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) name: Option<String>,
    /// Text in JSON; some servers send the object itself.
    pub(super) arguments: Option<Value>,
}

/// The usage of the reply so far.
#[derive(Default, Deserialize)]
pub(super) struct OpenAiUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    /// DeepSeek's name for cached tokens.
    prompt_cache_hit_tokens: Option<u64>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Default, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
    /// OpenRouter.
    cache_write_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

/// Leaves out values of an unexpected type: no reply is lost for them.
fn if_readable<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(Value::deserialize(deserializer)?).ok())
}

impl OpenAiUsage {
    /// In our terms, where thinking is part of the output: xAI and Gemini count it in the total only.
    pub(super) fn tokens(&self) -> Tokens {
        let input_tokens = self.prompt_tokens.unwrap_or_default();
        let completion = self.completion_tokens.unwrap_or_default();
        let rest = self
            .total_tokens
            .unwrap_or_default()
            .saturating_sub(input_tokens);
        let details = self.prompt_tokens_details.as_ref();
        let thought = self.completion_tokens_details.as_ref();
        let cached = details.and_then(|details| details.cached_tokens);
        Tokens {
            input_tokens,
            output_tokens: completion.max(rest),
            cache_read_tokens: cached.or(self.prompt_cache_hit_tokens).unwrap_or_default(),
            cache_write_tokens: details
                .and_then(|d| d.cache_write_tokens)
                .unwrap_or_default(),
            reasoning_tokens: thought.and_then(|d| d.reasoning_tokens).unwrap_or_default(),
            cost_usd: None,
        }
    }
}
