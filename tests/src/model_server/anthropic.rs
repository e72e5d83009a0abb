//! The Anthropic Messages format.

mod block;
mod check;

use serde_json::{Value, json};

use super::given::{self, Given};
use super::provider::Provider;
use super::reply::{Part, Stop};

pub(super) use self::check::check;

pub(super) fn events(given: &Given, request: &Value) -> Vec<String> {
    let usage = given.message.usage;
    let mut events = vec![
        event(json!({"type": "message_start", "message": {
            "id": format!("msg_{}", given.id.simple()),
            "type": "message",
            "role": "assistant",
            "model": request["model"],
            "content": [],
            "stop_reason": null,
            "stop_sequence": null,
            "usage": {
                "input_tokens": usage.input.saturating_sub(usage.cache_read + usage.cache_write),
                "cache_creation_input_tokens": usage.cache_write,
                "cache_read_input_tokens": usage.cache_read,
                "output_tokens": usage.output.min(1),
            },
        }})),
        event(json!({"type": "ping"})),
    ];
    for (index, part) in given.message.parts.iter().enumerate() {
        let (start, deltas) = block_events(given, index, part);
        let start = json!({"type": "content_block_start", "index": index, "content_block": start});
        events.push(event(start));
        events.extend(deltas.into_iter().map(|delta| {
            event(json!({"type": "content_block_delta", "index": index, "delta": delta}))
        }));
        events.push(event(json!({"type": "content_block_stop", "index": index})));
    }
    events.push(event(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(given), "stop_sequence": null},
        "usage": {"output_tokens": usage.output},
    })));
    events.push(event(json!({"type": "message_stop"})));
    events
}

fn event(data: Value) -> String {
    format!(
        "event: {}\ndata: {data}\n\n",
        data["type"].as_str().unwrap_or_default()
    )
}

/// Returns the initial block and the deltas that fill it.
fn block_events(given: &Given, index: usize, part: &Part) -> (Value, Vec<Value>) {
    match part {
        Part::Text(text) => (
            json!({"type": "text", "text": ""}),
            given
                .deltas(text)
                .map(|text| json!({"type": "text_delta", "text": text}))
                .collect(),
        ),
        Part::Thinking(thought) => {
            let deltas = given
                .deltas(thought)
                .map(|thought| json!({"type": "thinking_delta", "thinking": thought}));
            let signature = given::signature(thought);
            let signature = json!({"type": "signature_delta", "signature": signature});
            (
                json!({"type": "thinking", "thinking": "", "signature": ""}),
                deltas.chain([signature]).collect(),
            )
        }
        Part::RedactedThinking(data) => (
            json!({"type": "redacted_thinking", "data": data}),
            Vec::new(),
        ),
        Part::Call { name, arguments } => {
            // The provider first sends an empty piece, and no other if there are no arguments.
            let rest = if arguments == "{}" { "" } else { arguments };
            let pieces = [""].into_iter().chain(given.deltas(rest));
            let id = given.call_id(index);
            (
                json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
                pieces
                    .map(|json| json!({"type": "input_json_delta", "partial_json": json}))
                    .collect(),
            )
        }
    }
}

fn stop_reason(given: &Given) -> &str {
    match &given.message.stop {
        Stop::Natural if given.calls().next().is_some() => "tool_use",
        Stop::Natural => "end_turn",
        Stop::OutOfTokens => "max_tokens",
        Stop::Said(reason) => reason,
    }
}

/// Compares the canonical blocks in order. Blank texts, which the provider would reject, and broken tool calls may be
/// missing.
pub(super) fn is_given(message: &Value, given: &Given) -> bool {
    let blocks = message["content"].as_array().into_iter().flatten();
    let mut blocks = blocks.filter(|block| !is_blank_text(block)).peekable();
    for (index, part) in given.message.parts.iter().enumerate() {
        let is_same = blocks
            .peek()
            .is_some_and(|block| is_same(block, part, given, index));
        if is_same {
            blocks.next();
        } else if !may_be_missing(part) {
            return false;
        }
    }
    message["role"] == "assistant" && blocks.next().is_none()
}

fn is_blank_text(block: &Value) -> bool {
    block["type"] == "text"
        && block["text"]
            .as_str()
            .is_none_or(|text| text.trim().is_empty())
}

fn is_same(block: &Value, part: &Part, given: &Given, index: usize) -> bool {
    match part {
        Part::Text(text) => *block == json!({"type": "text", "text": text}),
        Part::Thinking(thought) => {
            let signature = given::signature(thought);
            *block == json!({"type": "thinking", "thinking": thought, "signature": signature})
        }
        Part::RedactedThinking(data) => {
            *block == json!({"type": "redacted_thinking", "data": data})
        }
        Part::Call { name, arguments } => {
            block["type"] == "tool_use"
                && given.is_call_id(&block["id"], Provider::Anthropic, index)
                && block["name"] == name.as_str()
                && given::object(arguments).is_none_or(|arguments| block["input"] == arguments)
        }
    }
}

fn may_be_missing(part: &Part) -> bool {
    match part {
        Part::Text(text) => text.trim().is_empty(),
        Part::Thinking(_) | Part::RedactedThinking(_) => false,
        Part::Call { arguments, .. } => given::object(arguments).is_none(),
    }
}
