//! Messages of models, in a form that does not depend on the provider.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::money::Usd;

/// One whole reply of a model: the data of `message.completed`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AssistantMessage {
    /// The blocks in the order in which the model produced them.
    pub content: Vec<Block>,
    /// Why the model stopped. Whether tools run is decided by the calls, not by this.
    pub stop_reason: StopReason,
    /// The usage of the reply.
    pub usage: Tokens,
    /// The model as `provider/id`.
    #[cfg_attr(feature = "openapi", schema(example = "anthropic/claude-sonnet-4-5"))]
    pub model: String,
}

/// A part of a reply.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Block {
    /// Text for the person who asked.
    Text {
        /// The text.
        text: String,
    },
    /// The model's reasoning before its answer.
    Reasoning {
        /// The thought as far as the provider shows it; may be empty.
        text: String,
        /// The provider's own form of the block, handed back to it unchanged.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<Value>,
    },
    /// A call of a tool.
    ToolCall(ToolCall),
}

/// A tool and the input that the model gave it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCall {
    /// Unique within the job; results name it.
    pub call_id: String,
    /// The canonical (dotted) name, or whatever the model wrote if it is none of ours.
    pub tool: String,
    /// The arguments, a JSON object.
    pub input: Value,
    /// Why `input` could not be read, when the reply was cut or is not JSON; such a call never runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub malformed: Option<String>,
}

/// Why a model stopped, normalised over providers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It had said everything.
    EndTurn,
    /// It wants tools to run.
    ToolUse,
    /// The reply reached its cap.
    MaxTokens,
    /// What it read and wrote fills the whole of its context.
    ContextFull,
    /// It broke off in the middle and goes on when it is asked again.
    Paused,
    /// It declined.
    Refusal,
    /// A reason that only its provider knows.
    Other,
}

impl StopReason {
    /// Its name on the wire.
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

/// Tokens of one reply or of a whole job, and what they cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Tokens {
    /// Read by the model, cached ones included.
    pub input_tokens: u64,
    /// Written by the model, thinking included.
    pub output_tokens: u64,
    /// The part of `input_tokens` that came out of the provider's cache.
    #[serde(default)]
    pub cache_read_tokens: u64,
    /// The part of `input_tokens` that went into the provider's cache.
    #[serde(default)]
    pub cache_write_tokens: u64,
    /// The part of `output_tokens` that is thinking, where the provider tells.
    #[serde(default)]
    pub reasoning_tokens: u64,
    /// Their cost at the prices of the time; missing if the price of the model was not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Usd>,
}

impl AssistantMessage {
    /// The text blocks, joined; empty if there is none.
    pub fn text(&self) -> String {
        self.text_with("\n\n")
    }

    /// The text blocks, joined by `separator`.
    pub fn text_with(&self, separator: &str) -> String {
        let texts = self.content.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join(separator)
    }

    /// The calls in order.
    pub fn tool_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.content.iter().filter_map(|block| match block {
            Block::ToolCall(call) => Some(call),
            _ => None,
        })
    }
}

impl Tokens {
    /// Read and written.
    pub fn total(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    /// Whether the provider has counted both.
    pub fn is_counted(&self) -> bool {
        self.input_tokens > 0 && self.output_tokens > 0
    }
}

impl std::ops::AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        // What one part cost is not what the whole did.
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
