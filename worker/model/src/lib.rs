//! Model providers: one request, one stream of events.

pub mod anthropic;
mod arguments;
mod call_id;
mod failure;
#[cfg(test)]
mod fake_server;
mod http;
pub mod image_scaling;
mod learned;
mod media;
mod name;
mod open;
pub mod openai;
#[cfg(test)]
mod replay;
mod reply;
pub mod retry;
mod script;
pub mod shown_image;
mod strict_schema;
mod surrogate;
mod vendor;
#[cfg(any(test, feature = "test-support"))]
pub mod wire_rules;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
pub use learned::LearnedLimits;
pub use open::open;
use serde_json::Value;
use shared::message::AssistantMessage;

use self::media::AcceptedMedia;
use self::name::ToolNames;

/// A model that can be asked. Dropping the stream ends the call.
pub trait LanguageModel: Send + Sync {
    /// Streams one reply: perhaps [`ModelEvent::Begun`], deltas, then [`ModelEvent::Completed`] as the last item, or
    /// an error as the last.
    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
    ) -> BoxStream<'a, Result<ModelEvent, ModelError>>;

    /// Whether it repeats itself because it was told to, and not because it is stuck.
    fn follows_a_script(&self) -> bool {
        false
    }

    /// Whether it looks at images, as far as is known. One whose provider has refused images does not.
    fn takes_images(&self) -> bool {
        false
    }

    /// Whether its last message can be constrained to this JSON Schema.
    fn constrains_output(&self, schema: &Value) -> bool;
}

/// A request to a model.
#[derive(Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The tools that it may call, by canonical name.
    pub tools: &'a [Arc<ToolSpec>],
    /// The transcript; user and assistant messages alternate, and a user message leads.
    pub messages: &'a [ModelMessage],
    /// The most tokens of the reply.
    pub max_tokens: u32,
    /// The JSON Schema of its last message, where [`LanguageModel::constrains_output`] says that it can be given one.
    pub output_schema: Option<&'a Value>,
}

/// The model and provider that a request is rendered for.
struct RenderContext<'a> {
    /// The model's id at its provider.
    model_id: &'a str,
    /// Its name for us: what other models have thought stays with them.
    name: &'a str,
    /// The provider's names of the tools.
    names: &'a ToolNames,
    /// The files that it looks at itself.
    takes: AcceptedMedia,
}

/// A tool as the model sees it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The canonical (dotted) name.
    pub name: Cow<'static, str>,
    /// Its purpose and when to use it.
    pub description: String,
    /// JSON Schema of its arguments.
    pub input_schema: Value,
}

/// One side's turn.
#[derive(Clone, Debug)]
pub enum ModelMessage {
    /// Our message: the prompt, or the results of the calls before.
    User(Vec<Part>),
    /// The model's reply.
    Assistant(AssistantMessage),
}

/// A part of what we say.
#[derive(Clone, Debug)]
pub enum Part {
    /// Plain text.
    Text(String),
    /// A file that the model looks at itself.
    Media(Media),
    /// The one result of a call.
    ToolResult(ToolResult),
}

/// A file shown to the model.
#[derive(Clone, Debug)]
pub struct Media {
    /// File name in the workspace.
    pub name: String,
    /// Media type, e.g. `image/png`.
    pub content_type: String,
    /// The content.
    pub data: Bytes,
    /// The size of an image, if it is known.
    pub pixels: Option<PixelSize>,
}

/// The size of an image in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelSize {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct ToolResult {
    /// The call that it answers.
    pub call_id: String,
    /// The text that the model reads.
    pub text: String,
    /// Whether the call failed. Such a result has no images: Anthropic takes text alone.
    pub is_error: bool,
    /// The images that the model looks at.
    pub images: Vec<Media>,
}

/// An event of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// The model has begun to reply, and with it the provider to count.
    Begun,
    /// More text.
    Text(String),
    /// More thinking.
    Reasoning(String),
    /// The whole reply; nothing follows.
    Completed(AssistantMessage),
}

/// The reason why there is no complete reply.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// 429: too many requests for this key.
    #[error("the provider limits the rate of requests")]
    RateLimited {
        /// The pause of `Retry-After`.
        retry_after: Option<Duration>,
    },
    /// 5xx, 529 and errors that a provider reports as overload, also in mid-stream.
    #[error("the provider is overloaded or failing: {message}")]
    Unavailable {
        /// The pause of `Retry-After`.
        retry_after: Option<Duration>,
        /// The provider's words, capped.
        message: String,
    },
    /// The connection failed, stalled or was cut.
    #[error("no answer from the provider")]
    Transport(#[source] reqwest::Error),
    /// The stream stopped before its end, or was silent for too long.
    #[error("the provider's stream broke off")]
    BrokenStream,
    /// Another 4xx: the request or the key is wrong, and asking again will not help.
    #[error("the provider refused the request with status {status}: {message}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The provider's words, capped.
        message: String,
    },
    /// The request is larger than the model's context window.
    #[error("the request is larger than the context window of the model: {message}")]
    ContextExceeded {
        /// The window in tokens, if the provider names it.
        window: Option<u32>,
        /// The provider's words, capped.
        message: String,
    },
    /// The circuit breaker of the provider's account is open: the provider was not asked.
    #[error(
        "the provider `{provider}` has failed repeatedly and is not asked for another {} s", retry_after.as_secs().max(1)
    )]
    CircuitOpen {
        /// The provider.
        provider: String,
        /// The rest of the pause.
        retry_after: Duration,
    },
    /// The account may not be used for longer than the caller waits: the provider was not asked.
    #[error(
        "the provider `{provider}` allows no further request for another {} s", retry_after.as_secs().max(1)
    )]
    Paused {
        /// The provider.
        provider: String,
        /// The rest of the pause.
        retry_after: Duration,
    },
    /// The answer is not what the provider's documentation says: a proxy's page, or a line that was damaged.
    #[error("the provider's answer cannot be read: {0}")]
    Protocol(String),
}

impl ModelError {
    /// Its kind in a word, for operators.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "rate_limited",
            Self::Unavailable { .. } => "unavailable",
            Self::Transport(_) => "transport",
            Self::BrokenStream => "broken_stream",
            Self::Refused { .. } => "refused",
            Self::ContextExceeded { .. } => "context_exceeded",
            Self::CircuitOpen { .. } => "circuit_open",
            Self::Paused { .. } => "paused",
            Self::Protocol(_) => "protocol",
        }
    }

    /// Whether the same request may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            // A request that cannot even be built (a bad base URL, say) never will be.
            Self::Transport(error) => !error.is_builder(),
            Self::RateLimited { .. }
            | Self::Unavailable { .. }
            | Self::BrokenStream
            | Self::Protocol(_) => true,
            Self::Refused { .. }
            | Self::ContextExceeded { .. }
            | Self::CircuitOpen { .. }
            | Self::Paused { .. } => false,
        }
    }

    /// Whether another provider may answer the same request.
    pub fn is_outage(&self) -> bool {
        self.is_retryable() || matches!(self, Self::CircuitOpen { .. } | Self::Paused { .. })
    }

    /// Whether the request is larger than the model's context window.
    pub fn exceeds_context(&self) -> bool {
        matches!(self, Self::ContextExceeded { .. })
    }

    /// The pause that the provider asked for.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after } | Self::Unavailable { retry_after, .. } => {
                *retry_after
            }
            Self::CircuitOpen { retry_after, .. } | Self::Paused { retry_after, .. } => {
                Some(*retry_after)
            }
            _ => None,
        }
    }
}
