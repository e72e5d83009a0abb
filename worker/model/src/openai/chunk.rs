//! The chunks of a Chat Completions stream, parsed with the leniency that its many servers need.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use shared::message::Tokens;

/// One chunk. The last one may have a usage and no choices.
#[derive(Deserialize)]
pub(super) struct Chunk {
    pub(super) choices: Option<Vec<Choice>>,
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) usage: Option<OpenAiUsage>,
}

/// The only choice, because the request asks for one.
#[derive(Deserialize)]
pub(super) struct Choice {
    pub(super) delta: Option<Delta>,
    /// Replaces `delta` if a server does not stream.
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
    /// Sent by DeepSeek, vLLM and others.
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) reasoning_content: Option<String>,
    /// Sent by OpenRouter, Groq, Ollama and newer vLLM.
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) reasoning: Option<String>,
    /// Sent by OpenRouter: the thoughts with their signatures.
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

/// A piece of a call, or a complete call. Everything may be missing.
#[derive(Default, Deserialize)]
pub(super) struct CallDelta {
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) index: Option<u64>,
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) id: Option<String>,
    pub(super) function: Option<Function>,
    /// Gemini's thought signature, which must be sent back with the call.
    pub(super) extra_content: Option<Value>,
}

/// A piece of the name and the arguments.
#[derive(Default, Deserialize)]
pub(super) struct Function {
    #[serde(default, deserialize_with = "if_readable")]
    pub(super) name: Option<String>,
    /// JSON in a string. Some servers send the object itself.
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
    /// Sent by OpenRouter.
    cache_write_tokens: Option<u64>,
}

#[derive(Default, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

/// Ignores values of an unexpected type, so that no reply is lost because of them.
fn if_readable<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(Value::deserialize(deserializer)?).ok())
}

impl OpenAiUsage {
    /// Returns the token counts, in which thinking is part of the output. xAI and Gemini count it only in the total.
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
