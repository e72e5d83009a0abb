//! The events of the Messages API, as far as they are used.

use serde::Deserialize;
use serde_json::Value;
use shared::message::Tokens;

/// One event. The documentation says to ignore unknown events.
#[derive(Deserialize)]
#[serde(rename = "Event", tag = "type", rename_all = "snake_case")]
pub(super) enum AnthropicEvent {
    MessageStart {
        message: MessageStart,
    },
    ContentBlockStart {
        index: u64,
        content_block: Value,
    },
    ContentBlockDelta {
        index: u64,
        delta: AnthropicDelta,
    },
    MessageDelta {
        delta: MessageDelta,
        usage: Option<AnthropicUsage>,
    },
    MessageStop,
    Error {
        error: Value,
    },
    #[serde(other)]
    Other,
}

/// The head of a reply.
#[derive(Deserialize)]
pub(super) struct MessageStart {
    pub(super) usage: Option<AnthropicUsage>,
}

/// The part of a reply that is known only at its end.
#[derive(Deserialize)]
pub(super) struct MessageDelta {
    pub(super) stop_reason: Option<String>,
}

/// The start of a block.
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Start {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking,
    ToolUse {
        /// Missing in the events of some proxies.
        #[serde(default)]
        id: String,
        name: String,
        /// Empty, except for proxies that do not stream it.
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Other,
}

/// A piece of a block.
#[derive(Deserialize)]
#[serde(rename = "Delta", tag = "type")]
pub(super) enum AnthropicDelta {
    #[serde(rename = "text_delta")]
    Text { text: String },
    #[serde(rename = "thinking_delta")]
    Thinking { thinking: String },
    #[serde(rename = "signature_delta")]
    Signature { signature: String },
    #[serde(rename = "input_json_delta")]
    InputJson { partial_json: String },
    #[serde(other)]
    Other,
}

/// Running totals. Each may be absent or null, or with proxies zero until the end.
#[derive(Default, Deserialize)]
pub(super) struct AnthropicUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl AnthropicUsage {
    /// Updates the totals with later ones.
    pub(super) fn update(&mut self, later: Option<Self>) {
        let Some(later) = later else { return };
        self.input_tokens = self.input_tokens.max(later.input_tokens);
        self.output_tokens = self.output_tokens.max(later.output_tokens);
        self.cache_read_input_tokens = self
            .cache_read_input_tokens
            .max(later.cache_read_input_tokens);
        self.cache_creation_input_tokens = self
            .cache_creation_input_tokens
            .max(later.cache_creation_input_tokens);
    }

    /// Returns the token counts, in which cached tokens are part of the input.
    pub(super) fn tokens(&self) -> Tokens {
        let cache_read_tokens = self.cache_read_input_tokens.unwrap_or_default();
        let cache_write_tokens = self.cache_creation_input_tokens.unwrap_or_default();
        Tokens {
            input_tokens: self.input_tokens.unwrap_or_default()
                + cache_read_tokens
                + cache_write_tokens,
            output_tokens: self.output_tokens.unwrap_or_default(),
            cache_read_tokens,
            cache_write_tokens,
            // Counted as output and not reported separately.
            reasoning_tokens: 0,
            cost_usd: None,
        }
    }
}
