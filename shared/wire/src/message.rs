//! Messages of models, in a form that does not depend on the provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::money::Usd;

/// A complete reply of a model: the data of `message.completed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AssistantMessage {
    /// The blocks, in the order in which the model produced them.
    pub content: Vec<Block>,
    /// The reason why the model stopped. The tool calls in `content` decide whether tools run, not this field.
    pub stop_reason: StopReason,
    /// The usage of the reply.
    pub usage: Tokens,
    /// The model, as `provider/id`.
    #[cfg_attr(feature = "openapi", schema(example = "anthropic/claude-sonnet-4-5"))]
    pub model: String,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text for the user.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning before its answer.
    Reasoning {
        /// The reasoning, as far as the provider shows it. Can be empty.
        text: String,
        /// The block in the provider's own form. It is sent back to the provider unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<Value>,
    },
    /// A tool call.
    ToolCall(ToolCall),
}

/// A tool call, with the arguments that the model gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCall {
    /// The identifier of the call, unique within the job. The result of the call refers to it.
    pub call_id: String,
    /// The canonical (dotted) name of the tool, or the name as the model wrote it if there is no such tool.
    pub tool: String,
    /// The arguments, a JSON object.
    pub input: Value,
    /// The reason why `input` could not be read: the reply was cut off, or it is not JSON. Such a call never runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

/// The reason why a model stopped. The values are the same for all providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model finished its answer.
    EndTurn,
    /// The model calls tools.
    ToolUse,
    /// The reply reached its token limit.
    MaxTokens,
    /// The context window of the model is full.
    ContextFull,
    /// The model paused. It continues with the next request.
    Paused,
    /// The model refused to continue.
    Refusal,
    /// A reason that is specific to the provider.
    Other,
}

impl StopReason {
    /// Returns the name used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::ContextFull => "context_full",
            Self::Paused => "paused",
            Self::Refusal => "refusal",
            Self::Other => "other",
        }
    }
}

/// The tokens of a reply or of a whole job, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tokens {
    /// Tokens read by the model, including cached tokens.
    pub input_tokens: u64,
    /// Tokens written by the model, including reasoning.
    pub output_tokens: u64,
    /// The part of `input_tokens` that was read from the provider's cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// The part of `input_tokens` that was written to the provider's cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// The part of `output_tokens` that is reasoning, if the provider reports it.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// The cost in US dollars, at the prices of that time. Missing if the price of the model was not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Usd>,
}

impl AssistantMessage {
    /// Returns the text blocks, separated by blank lines. Empty if there are none.
    pub fn text(&self) -> String {
        self.text_with("\n\n")
    }

    /// Returns the text blocks, joined by `separator`.
    pub fn text_with(&self, separator: &str) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join(separator)
    }

    /// Returns the tool calls in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl Tokens {
    /// Returns the number of tokens read and written.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Whether the provider has reported both the tokens read and the tokens written.
    pub fn is_counted(&self) -> bool {
        self.input_tokens > 0 && self.output_tokens > 0
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        // If the cost of one part is not known, the cost of the sum is not known either.
        self.cost_usd = match (self.total(), other.total()) {
            (0, _) => other.cost_usd.or(self.cost_usd),
            (_, 0) => self.cost_usd.or(other.cost_usd),
            _ => self
                .cost_usd
                .zip(other.cost_usd)
                .map(|(one, more)| one + more),
        };
        self.input_tokens += other.input_tokens;
        self.output_tokens += other.output_tokens;
        self.cache_read_tokens += other.cache_read_tokens;
        self.cache_write_tokens += other.cache_write_tokens;
        self.reasoning_tokens += other.reasoning_tokens;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_an_older_log_can_be_read() {
        let read = |json| serde_json::from_str::<Tokens>(json).unwrap();
        let expected = Tokens {
            input_tokens: 9,
            output_tokens: 5,
            ..Tokens::default()
        };
        assert_eq!(read(r#"{"input_tokens":9,"output_tokens":5}"#), expected);
    }

    #[test]
    fn what_is_known_to_cost_something_adds_up_and_what_is_not_spoils_it() {
        let reply = |cost: Option<u64>| Tokens {
            input_tokens: 2,
            output_tokens: 1,
            cost_usd: cost.map(Usd::from_nanos),
            ..Tokens::default()
        };
        let sum = |replies: &[Tokens]| {
            let mut sum = Tokens::default();
            replies.iter().for_each(|reply| sum += *reply);
            sum.cost_usd.map(Usd::nanos)
        };
        assert_eq!(sum(&[reply(Some(3)), reply(Some(4))]), Some(7));
        assert_eq!(sum(&[reply(Some(3)), reply(None), reply(Some(4))]), None);
        assert_eq!(sum(&[Tokens::default(), reply(Some(3))]), Some(3));
        assert_eq!(sum(&[reply(Some(3)), Tokens::default()]), Some(3));
        assert_eq!(sum(&[]), None);
    }
}
