//! A reply that was given to a client: its script and its ids on the wire.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::chunk;
use super::provider::Provider;
use super::reply::{Message, Part, ServerVariant};

/// A message that was given to one request. The same script has different ids each time it is given.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) id: Uuid,
    pub(super) message: Message,
    /// The wire format in which the message was given.
    provider: Provider,
}

impl Given {
    pub(super) fn new(message: Message, provider: Provider) -> Self {
        Self {
            id: Uuid::now_v7(),
            message,
            provider,
        }
    }

    /// The id of the tool call with this part index. It has 39 characters; OpenAI allows 40.
    pub(super) fn call_id(&self, index: usize) -> String {
        let prefix = match self.provider {
            Provider::Anthropic => "toolu",
            Provider::OpenAi => "call",
        };
        format!("{prefix}_{}{index:02}", self.id.simple())
    }

    /// Whether a request of the provider's format may use this id for the tool call with this part index. A client
    /// may choose its own ids for calls that were given in the other format.
    pub(super) fn is_call_id(&self, id: &Value, provider: Provider, index: usize) -> bool {
        provider != self.provider || *id == self.call_id(index)
    }

    /// The id of the message that contains the tool call with this id.
    pub(super) fn id_in(call_id: &str) -> Option<Uuid> {
        let (_, rest) = call_id.split_once('_')?;
        Uuid::try_parse(rest.get(..32)?).ok()
    }

    /// The names of the called tools.
    pub(super) fn calls(&self) -> impl Iterator<Item = &str> {
        self.message.parts.iter().filter_map(|part| match part {
            Part::Call { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// All text parts, joined as in OpenAI's format.
    pub(super) fn text(&self) -> String {
        let texts = self.message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Splits a text into non-empty deltas according to the server variant of the message.
    pub(super) fn deltas<'a>(&self, text: &'a str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        match self.message.variant {
            ServerVariant::SplitPairs => Box::new(chunk::chars(text)),
            ServerVariant::Usual | ServerVariant::WithComments | ServerVariant::Simple => {
                Box::new(chunk::deltas(text))
            }
        }
    }

    /// Whether the message has no part that a client has to send back.
    pub(super) fn is_blank(&self) -> bool {
        self.message.parts.iter().all(|part| match part {
            Part::Text(text) => text.trim().is_empty(),
            Part::Thinking(_) | Part::RedactedThinking(_) => true,
            Part::Call { arguments, .. } => object(arguments).is_none(),
        })
    }
}

/// Parses the arguments of a tool call. Returns `None` if they are incomplete or invalid.
pub(super) fn object(arguments: &str) -> Option<Value> {
    serde_json::from_str(arguments)
        .ok()
        .filter(Value::is_object)
}

/// The signature of a thinking block. The server can verify it without storing it.
pub(super) fn signature(thought: &str) -> String {
    STANDARD.encode(Sha256::digest(format!("thought: {thought}")))
}
