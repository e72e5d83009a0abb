//! A message for the client: its script, and its ids on the wire.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::chunk;
use super::provider::Provider;
use super::reply::{Manner, Message, Part};

/// A message as it was given to one request. The same script given twice has different ids.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) id: Uuid,
    pub(super) message: Message,
    /// The format in which it was given.
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

    /// The id of the call that is the part with this index: 39 characters, OpenAI takes 40.
    pub(super) fn call_id(&self, index: usize) -> String {
        let prefix = match self.provider {
            Provider::Anthropic => "toolu",
            Provider::OpenAi => "call",
        };
        format!("{prefix}_{}{index:02}", self.id.simple())
    }

    /// Whether the call that is the part with this index may have this id in a request of that format. A client may
    /// give calls of the other format ids of its own.
    pub(super) fn is_call_id(&self, id: &Value, provider: Provider, index: usize) -> bool {
        provider != self.provider || *id == self.call_id(index)
    }

    /// The id of the message whose call has this id.
    pub(super) fn id_in(call_id: &str) -> Option<Uuid> {
        let (_, rest) = call_id.split_once('_')?;
        Uuid::try_parse(rest.get(..32)?).ok()
    }

    /// The names of the tools that it calls.
    pub(super) fn calls(&self) -> impl Iterator<Item = &str> {
        self.message.parts.iter().filter_map(|part| match part {
            Part::Call { name, .. } => Some(name.as_str()),
            _ => None,
        })
    }

    /// All text parts, joined as OpenAI's format joins them.
    pub(super) fn text(&self) -> String {
        let texts = self.message.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// A text in the deltas that its manner wants, none of them empty.
    pub(super) fn deltas<'a>(&self, text: &'a str) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        match self.message.manner {
            Manner::SplitPairs => Box::new(chunk::chars(text)),
            Manner::Usual | Manner::Commenting | Manner::Simple => Box::new(chunk::deltas(text)),
        }
    }

    /// Whether there is anything that a client has to hand back.
    pub(super) fn is_blank(&self) -> bool {
        self.message.parts.iter().all(|part| match part {
            Part::Text(text) => text.trim().is_empty(),
            Part::Thinking(_) | Part::RedactedThinking(_) => true,
            Part::Call { arguments, .. } => object(arguments).is_none(),
        })
    }
}

/// The arguments of a call, unless they are cut or broken.
pub(super) fn object(arguments: &str) -> Option<Value> {
    serde_json::from_str(arguments)
        .ok()
        .filter(Value::is_object)
}

/// The signature of a thought; the server can tell it from any other without remembering it.
pub(super) fn signature(thought: &str) -> String {
    STANDARD.encode(Sha256::digest(format!("thought: {thought}")))
}
