//! The OpenAI Chat Completions format.

mod check;

use serde_json::{Value, json};

use super::given::{self, Given};
use super::provider::Provider;
use super::reply::{Part, ServerVariant, Stop, Usage};
use super::request;

pub(super) use self::check::check;

pub(super) fn events(given: &Given, request: &Value) -> Vec<String> {
    let is_simple = given.message.variant == ServerVariant::Simple;
    let wants_usage = !is_simple && request["stream_options"]["include_usage"] == true;
    let event = |choices: Value, usage: Option<Usage>| {
        let mut data = json!({
            "id": format!("chatcmpl-{}", given.id.simple()),
            "object": "chat.completion.chunk",
            "created": 1_700_000_000,
            "model": request["model"],
            "choices": choices,
        });
        if wants_usage {
            data["usage"] = usage.map_or(Value::Null, usage_json);
        }
        format!("data: {data}\n\n")
    };
    let delta = |delta: Value, finish_reason: Option<&str>| {
        event(
            json!([{"index": 0, "delta": delta, "finish_reason": finish_reason}]),
            None,
        )
    };

    let mut events = vec![delta(json!({"role": "assistant", "content": ""}), None)];
    events.extend(deltas(given).into_iter().map(|piece| delta(piece, None)));
    events.push(delta(json!({}), Some(finish_reason(given))));
    if wants_usage {
        events.push(event(json!([]), Some(given.message.usage)));
    }
    if !is_simple {
        events.push("data: [DONE]\n\n".to_owned());
    }
    events
}

fn deltas(given: &Given) -> Vec<Value> {
    let mut deltas = Vec::new();
    let mut call_index = 0;
    for (index, part) in given.message.parts.iter().enumerate() {
        match part {
            Part::Text(text) => {
                deltas.extend(given.deltas(text).map(|text| json!({"content": text})));
            }
            Part::Thinking(thought) => {
                let pieces = given.deltas(thought);
                deltas.extend(pieces.map(|thought| json!({"reasoning_content": thought})));
            }
            Part::RedactedThinking(_) => {}
            Part::Call { name, arguments } if given.message.variant == ServerVariant::Simple => {
                let function = json!({"name": name, "arguments": arguments});
                let id = given.call_id(index);
                let call = json!({"index": 0, "id": id, "type": "function", "function": function});
                deltas.push(json!({"tool_calls": [call]}));
            }
            Part::Call { name, arguments } => {
                deltas.push(json!({"tool_calls": [{
                    "index": call_index,
                    "id": given.call_id(index),
                    "type": "function",
                    "function": {"name": name, "arguments": ""},
                }]}));
                deltas.extend(given.deltas(arguments).map(|piece| {
                    let function = json!({"arguments": piece});
                    json!({"tool_calls": [{"index": call_index, "function": function}]})
                }));
                call_index += 1;
            }
        }
    }
    deltas
}

fn usage_json(usage: Usage) -> Value {
    json!({
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read},
    })
}

fn finish_reason(given: &Given) -> &str {
    match &given.message.stop {
        Stop::Natural if given.calls().next().is_some() => "tool_calls",
        Stop::Natural => "stop",
        Stop::OutOfTokens => "length",
        Stop::Said(reason) => reason,
    }
}

/// Compares the text and the canonical tool calls. Broken calls may be missing.
pub(super) fn is_given(message: &Value, given: &Given) -> bool {
    let text = request::text_of(&message["content"]);
    let given_text = given.text();
    let is_same_text = text == given_text || (is_blank(&text) && is_blank(&given_text));

    let mut calls = message["tool_calls"]
        .as_array()
        .into_iter()
        .flatten()
        .peekable();
    for (index, part) in given.message.parts.iter().enumerate() {
        let Part::Call { name, arguments } = part else {
            continue;
        };
        if calls.peek().is_some_and(|call| {
            given.is_call_id(&call["id"], Provider::OpenAi, index)
                && is_same_call(call, name, arguments)
        }) {
            calls.next();
        } else if given::object(arguments).is_some() {
            return false;
        }
    }
    message["role"] == "assistant" && is_same_text && calls.next().is_none()
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn is_same_call(call: &Value, name: &str, arguments: &str) -> bool {
    let is_same_input =
        given::object(arguments).is_none_or(|arguments| call["function"]["arguments"] == arguments);
    call["function"]["name"] == name && is_same_input
}
