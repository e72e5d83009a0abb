//! Thoughts that servers require back, stored in `Block::Reasoning`.
//!
//! There is no standard for this: DeepSeek rejects calls without `reasoning_content`, OpenRouter requires
//! `reasoning_details`, and Gemini the `extra_content` of each call.

use serde_json::{Map, Value, json};
use shared::message::Block;

/// The fields of a message in which servers send thoughts and accept them back.
const FIELDS: [&str; 3] = ["reasoning_content", "reasoning", "reasoning_details"];

/// The parts of the thoughts of one reply, except their text.
#[derive(Default)]
pub(super) struct Thought {
    /// The field in which the text arrived.
    pub(super) field: Option<&'static str>,
    details: Vec<Value>,
}

impl Thought {
    /// Adds the details of a chunk. Pieces of one text are joined.
    pub(super) fn take_details(&mut self, details: Vec<Value>) {
        for detail in details {
            let last = self.details.last_mut();
            match last.filter(|last| continues(last, &detail)) {
                Some(last) => append(last, &detail),
                None => self.details.push(detail),
            }
        }
    }

    /// Returns the form to send back, with the text, the details, and the extra content by call.
    pub(super) fn finish(self, text: &str, extra_content: Map<String, Value>) -> Option<Value> {
        let mut form = Map::new();
        if !self.details.is_empty() {
            form.insert("reasoning_details".into(), Value::Array(self.details));
        } else if let Some(field) = self.field {
            form.insert(field.into(), json!(text));
        }
        if !extra_content.is_empty() {
            form.insert("extra_content".into(), Value::Object(extra_content));
        }
        (!form.is_empty()).then_some(Value::Object(form))
    }
}

fn continues(last: &Value, detail: &Value) -> bool {
    let same = |key| last.get(key) == detail.get(key);
    detail["type"] != "reasoning.encrypted" && same("type") && same("index")
}

fn append(last: &mut Value, detail: &Value) {
    for (key, value) in detail.as_object().into_iter().flatten() {
        match (&mut last[key], value) {
            (_, Value::Null) => {}
            (Value::String(text), Value::String(more)) if key == "text" || key == "summary" => {
                text.push_str(more);
            }
            (field, value) => *field = value.clone(),
        }
    }
}

/// Copies the thoughts of a reply to the fields from which they came. Forms of other providers are left out.
pub(super) fn hand_back(blocks: &[Block], message: &mut Value) {
    let forms = blocks.iter().filter_map(|block| match block {
        Block::Reasoning { provider, .. } => provider.as_ref(),
        _ => None,
    });
    for form in forms {
        for field in FIELDS {
            if let Some(thought) = form.get(field) {
                message[field] = thought.clone();
            }
        }
        let calls = message.get_mut("tool_calls").and_then(Value::as_array_mut);
        for call in calls.into_iter().flatten() {
            let id = call["id"].as_str().unwrap_or_default();
            if let Some(extra) = form.get("extra_content").and_then(|extras| extras.get(id)) {
                call["extra_content"] = extra.clone();
            }
        }
    }
}
