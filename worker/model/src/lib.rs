//! Model providers: one request, one stream of events.

pub mod anthropic;
pub mod arguments;
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

/// A model that can be called. Dropping the stream ends the call.
pub trait LanguageModel: Send + Sync {
    /// Streams one reply: an optional [`ModelEvent::Begun`], deltas, and [`ModelEvent::Completed`] or
    /// an error as the last item.
    fn stream<'a>(
        &'a self,
        request: ModelRequest<'a>,
    ) -> BoxStream<'a, Result<ModelEvent, ModelError>>;

    /// Whether the model follows a script, so that repeated calls do not mean that it is stuck.
    fn follows_a_script(&self) -> bool {
        false
    }

    /// Whether the model accepts images, as far as is known. `false` after its provider has refused images.
    fn takes_images(&self) -> bool {
        false
    }

    /// Whether the last message of the model can be constrained to this JSON Schema.
    fn constrains_output(&self, schema: &Value) -> bool;
}

/// A request to a model.
#[derive(Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The system prompt.
    pub system: &'a str,
    /// The tools that the model may call, by canonical name.
    pub tools: &'a [Arc<ToolSpec>],
    /// The transcript. User and assistant messages alternate, and the first is a user message.
    pub messages: &'a [ModelMessage],
    /// The maximum number of tokens of the reply.
    pub max_tokens: u32,
    /// The JSON Schema of the last message, if [`LanguageModel::constrains_output`] allows it.
    pub output_schema: Option<&'a Value>,
}

/// The model and provider that a request is rendered for.
struct RenderContext<'a> {
    /// The model's id at its provider.
    model_id: &'a str,
    /// The full name of the model. Thoughts of other models are not sent to it.
    name: &'a str,
    /// The provider's names of the tools.
    names: &'a ToolNames,
    /// The kinds of files that the model accepts.
    takes: AcceptedMedia,
}

/// A tool as the model sees it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The canonical (dotted) name.
    pub name: Cow<'static, str>,
    /// The purpose of the tool and when to use it.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub input_schema: Value,
}

/// A message of one side.
#[derive(Clone, Debug)]
pub enum ModelMessage {
    /// A message to the model: the prompt, or the results of the previous calls.
    User(Vec<Part>),
    /// The model's reply.
    Assistant(AssistantMessage),
}

/// A part of a message to the model.
#[derive(Clone, Debug)]
pub enum Part {
    /// Plain text.
    Text(String),
    /// A file that the model sees directly.
    Media(Media),
    /// The only result of a call.
    ToolResult(ToolResult),
}

/// A file shown to the model.
#[derive(Clone, Debug)]
pub struct Media {
    /// The file name in the workspace.
    pub name: String,
    /// The media type, e.g. `image/png`.
    pub content_type: String,
    /// The content.
    pub data: Bytes,
    /// The size of an image, if known.
    pub pixels: Option<PixelSize>,
}

/// The size of an image in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PixelSize {
    /// The width.
    pub width: u32,
    /// The height.
    pub height: u32,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The text for the model.
    pub text: String,
    /// Whether the call failed. A failed result has no images, because Anthropic accepts only text in it.
    pub is_error: bool,
    /// The images for the model.
    pub images: Vec<Media>,
}

/// An event of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// The model has started to reply, and the provider to count tokens.
    Begun,
    /// More text.
    Text(String),
    /// More thinking.
    Reasoning(String),
    /// The complete reply. Nothing follows.
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
    /// 5xx, 529 and errors that a provider reports as overload, including errors during a stream.
    #[error("the provider is overloaded or failing: {message}")]
    Unavailable {
        /// The pause of `Retry-After`.
        retry_after: Option<Duration>,
        /// The provider's message, with a limited length.
        message: String,
    },
    /// The connection failed, stalled or was cut.
    #[error("no answer from the provider")]
    Transport(#[source] reqwest::Error),
    /// The stream stopped before its end, or was silent for too long.
    #[error("the provider's stream broke off")]
    BrokenStream,
    /// Another 4xx: the request or the key is wrong, and another try would not help.
    #[error("the provider refused the request with status {status}: {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The provider's message, with a limited length.
        message: String,
    },
    /// The request is larger than the model's context window.
    #[error("the request is larger than the context window of the model: {message}")]
    ContextExceeded {
        /// The window in tokens, if the provider names it.
        window: Option<u32>,
        /// The provider's message, with a limited length.
        message: String,
    },
    /// The circuit breaker of the provider's account is open. The provider was not called.
    #[error(
        "the provider `{provider}` has failed repeatedly and receives no requests for another {} s", retry_after.as_secs().max(1)
    )]
    CircuitOpen {
        /// The provider.
        provider: String,
        /// The rest of the pause.
        retry_after: Duration,
    },
    /// The account is paused for longer than the caller waits. The provider was not called.
    #[error(
        "the provider `{provider}` allows no further request for another {} s", retry_after.as_secs().max(1)
    )]
    Paused {
        /// The provider.
        provider: String,
        /// The rest of the pause.
        retry_after: Duration,
    },
    /// The response does not follow the provider's documentation: for example a proxy's page, or a damaged line.
    #[error("the provider sent an invalid response: {0}")]
    Protocol(String),
}

impl ModelError {
    /// Returns the kind of the error in one word, for operators.
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
            // A request that cannot be built, for example because of a bad base URL, fails each time.
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

    /// Returns the pause that the provider requested.
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
