//! A request to the model server.

use std::collections::BTreeMap;
use std::ops::Index;
use std::time::Instant;

use serde_json::{Value, json};

use super::given;
use super::provider::Provider;
use super::result_image;

/// A request of a client. `request["messages"]` indexes into its body.
#[derive(Clone, Debug)]
pub struct Request {
    /// The wire format, which is determined by the path.
    pub provider: Provider,
    /// The time when the request was completely received.
    pub at: Instant,
    /// The headers by lower-case name. The values of a repeated header are joined.
    pub headers: BTreeMap<String, String>,
    /// The JSON body; null if the body was not JSON.
    pub body: Value,
}

impl Request {
    /// The number of earlier model replies in the request: 0 on the first turn.
    pub fn turn(&self) -> usize {
        self.messages()
            .filter(|message| message["role"] == "assistant")
            .count()
    }

    /// The first user text: the prompt of a job, with its marker.
    pub fn prompt(&self) -> String {
        self.messages()
            .find(|message| message["role"] == "user")
            .map(|message| text_of(&message["content"]))
            .unwrap_or_default()
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = &Value> {
        self.body["messages"].as_array().into_iter().flatten()
    }

    /// The messages in their canonical form, without the parts that may change between requests.
    pub(super) fn canonical_messages(&self) -> Vec<Value> {
        let messages = self.messages().cloned().map(canonical);
        messages.filter_map(result_image::without).collect()
    }
}

impl Index<&str> for Request {
    type Output = Value;

    fn index(&self, field: &str) -> &Value {
        &self.body[field]
    }
}

/// The text of a content, which is a string or a list of blocks in both formats.
pub(super) fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

fn canonical(mut message: Value) -> Value {
    if let Value::String(text) = &message["content"] {
        message["content"] = json!([{"type": "text", "text": text}]);
    }
    if let Value::Object(fields) = &mut message {
        // OpenAI-compatible servers differ in whether and when they want their reasoning back.
        fields.retain(|name, value| {
            !value.is_null() && name != "reasoning_content" && name != "reasoning"
        });
    }
    // Arguments are compared as parsed JSON, since a client may have stored the fields in another order.
    for call in message["tool_calls"].as_array_mut().into_iter().flatten() {
        let arguments = &mut call["function"]["arguments"];
        if let Some(object) = arguments.as_str().and_then(given::object) {
            *arguments = object;
        }
    }
    // The mark of the cached prefix moves as the conversation grows.
    for block in message["content"].as_array_mut().into_iter().flatten() {
        if let Value::Object(fields) = block {
            fields.shift_remove("cache_control");
        }
    }
    message
}
