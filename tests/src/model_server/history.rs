//! The rule that the history of a conversation does not change: each request continues an earlier one.
//!
//! The messages of all requests form a tree. A node is a sequence of messages, identified by its hash, so that a long
//! load test does not fill the memory with transcripts.

use std::collections::HashMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::given::Given;
use super::provider::Provider;
use super::reply::Ending;
use super::wire;

/// The permitted differences between a request and earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AllowedChange {
    None,
    /// Messages that are not from the model may differ, because several jobs share the script.
    OtherMessages,
    /// In addition, the beginning may differ, and replies may follow other messages than the original ones. This is
    /// the case in a conversation whose older part was summarized, or that has another system prompt.
    NewBeginning,
}

/// The messages of all requests under one marker.
#[derive(Debug, Default)]
pub(super) struct History {
    nodes: HashMap<Prefix, Node>,
}

/// The hash of the first messages of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Prefix([u8; 32]);

/// The continuation of a prefix.
#[derive(Debug, Default)]
struct Node {
    /// The model's replies to exactly these messages.
    replies: Vec<Given>,
    /// A request ended here and received no reply that a client can send back. The client may append to its last
    /// message.
    is_open: bool,
    /// A request with this prefix received a complete reply.
    is_answered: bool,
}

impl Prefix {
    fn then(self, message: &Value) -> Self {
        let mut hasher = Sha256::new_with_prefix(self.0);
        hash(message, &mut hasher);
        Self(hasher.finalize().into())
    }
}

impl Node {
    fn has_reply(&self, provider: Provider, message: &Value) -> bool {
        // In a load test with one prompt, there are thousands of replies here.
        let id = first_call_id(message).and_then(Given::id_in);
        let candidates = self.replies.iter();
        candidates
            .filter(|given| id.is_none_or(|id| id == given.id))
            .any(|given| wire::is_given(provider, message, given))
    }
}

impl History {
    /// Describes how the canonical messages contradict earlier requests and replies, if they do.
    ///
    /// A request may repeat an earlier one, as retries and restarts do, or continue after a reply. Where several jobs
    /// share the history, all messages that are not from the model may differ.
    pub(super) fn contradiction(
        &self,
        provider: Provider,
        messages: &[Value],
        allowed: AllowedChange,
    ) -> Option<String> {
        let (prefix, known) = self.longest_known(messages);
        let new = messages.get(known)?;
        let mut rest = known..messages.len();
        let node = self.nodes.get(&prefix);
        if new["role"] == "assistant" {
            let is_reply = node.is_some_and(|node| node.has_reply(provider, new));
            if !is_reply && !self.may_be_retold(provider, new, allowed) {
                return Some(format!(
                    "Message {known} (assistant) is not what the model replied to the messages \
                     before it."
                ));
            }
            rest.start += 1;
        } else if let Some(node) = node {
            let begins_turn = known
                .checked_sub(1)
                .is_none_or(|last| begins_user_turn(&messages[last]));
            let may_differ = allowed != AllowedChange::None
                || node.is_open
                || (begins_turn && !node.is_answered)
                || self.extends_open(prefix, new);
            if !may_differ {
                return Some(format!(
                    "Message {known} ({}) is not what an earlier request said in its place.",
                    new["role"].as_str().unwrap_or_default()
                ));
            }
        }
        let invented = rest
            .filter(|at| messages[*at]["role"] == "assistant")
            .find(|at| !self.may_be_retold(provider, &messages[*at], allowed))?;
        Some(format!(
            "Message {invented} (assistant) is a reply that the model never gave."
        ))
    }

    /// Whether the message is a reply that the model gave to any request, and replies may follow other messages.
    fn may_be_retold(&self, provider: Provider, message: &Value, allowed: AllowedChange) -> bool {
        allowed == AllowedChange::NewBeginning
            && self
                .nodes
                .values()
                .any(|node| node.has_reply(provider, message))
    }

    /// Returns the longest prefix of the messages that earlier requests had, and its length.
    fn longest_known(&self, messages: &[Value]) -> (Prefix, usize) {
        let mut prefix = Prefix::default();
        for (index, message) in messages.iter().enumerate() {
            let next = prefix.then(message);
            if !self.nodes.contains_key(&next) {
                return (prefix, index);
            }
            prefix = next;
        }
        (prefix, messages.len())
    }

    /// Records a request that will be answered.
    pub(super) fn note(&mut self, messages: &[Value]) {
        let mut prefix = Prefix::default();
        self.nodes.entry(prefix).or_default();
        for message in messages {
            prefix = prefix.then(message);
            self.nodes.entry(prefix).or_default();
        }
        self.node(prefix).is_open = true;
    }

    /// Records the reply to a request.
    pub(super) fn answer(&mut self, messages: &[Value], given: Given) {
        let ends_well = matches!(
            given.message.ending,
            Ending::Complete | Ending::StallHalfway
        );
        if !ends_well {
            return;
        }
        let is_open = given.message.ending != Ending::Complete || given.is_blank();
        let mut prefix = Prefix::default();
        self.node(prefix).is_answered |= !is_open;
        for message in messages {
            prefix = prefix.then(message);
            self.node(prefix).is_answered |= !is_open;
        }
        let node = self.node(prefix);
        node.is_open = is_open;
        node.replies.push(given);
    }

    /// Whether the message is the last one of an unanswered request with additional blocks at its end.
    fn extends_open(&self, prefix: Prefix, message: &Value) -> bool {
        let blocks = message["content"].as_array().map_or(0, Vec::len);
        (1..blocks).any(|length| {
            let mut shorter = message.clone();
            shorter["content"]
                .as_array_mut()
                .expect("it has blocks")
                .truncate(length);
            self.nodes
                .get(&prefix.then(&shorter))
                .is_some_and(|node| node.is_open)
        })
    }

    fn node(&mut self, prefix: Prefix) -> &mut Node {
        self.nodes.entry(prefix).or_default()
    }
}

/// Whether the user's turn begins after this message: it is a reply without tool calls, or a system message.
fn begins_user_turn(message: &Value) -> bool {
    let mut blocks = message["content"].as_array().into_iter().flatten();
    match message["role"].as_str() {
        Some("assistant") => {
            message["tool_calls"].is_null() && blocks.all(|block| block["type"] != "tool_use")
        }
        Some("system" | "developer") => true,
        _ => false,
    }
}

fn first_call_id(message: &Value) -> Option<&str> {
    let calls = [&message["tool_calls"], &message["content"]];
    let mut calls = calls.into_iter().filter_map(Value::as_array).flatten();
    calls.find_map(|call| call["id"].as_str())
}

/// Hashes the content of a value, independent of the order of its fields.
fn hash(value: &Value, hasher: &mut Sha256) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            hasher.update(b"{");
            for (name, value) in fields {
                hasher.update(format!("{name:?}:"));
                hash(value, hasher);
            }
            hasher.update(b"}");
        }
        Value::Array(items) => {
            hasher.update(b"[");
            for item in items {
                hash(item, hasher);
                hasher.update(b",");
            }
            hasher.update(b"]");
        }
        _ => hasher.update(value.to_string()),
    }
}
