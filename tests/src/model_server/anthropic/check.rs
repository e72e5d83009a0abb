//! Anthropic's rules for requests.

use serde_json::Value;

use super::block::{self, Blocks};
use crate::model_server::fault::Faults;
use crate::model_server::request::Request;
use crate::model_server::strict;

const FIELDS: &[&str] = &[
    "cache_control",
    "container",
    "context_management",
    "inference_geo",
    "max_tokens",
    "mcp_servers",
    "messages",
    "metadata",
    "model",
    "output_config",
    "service_tier",
    "stop_sequences",
    "stream",
    "system",
    "temperature",
    "thinking",
    "tool_choice",
    "tools",
    "top_k",
    "top_p",
];

/// The highest number of places with a cache mark.
const MAX_CACHE_MARKS: usize = 4;

/// The smallest thinking budget.
const MIN_THINKING_TOKENS: u64 = 1_024;

pub(in crate::model_server) fn check(request: &Request, made_up: &[String], faults: &mut Faults) {
    let body = &request.body;
    faults.headers(
        request,
        &[
            ("x-api-key", "…"),
            ("anthropic-version", "2023-06-01"),
            ("content-type", "application/json"),
        ],
    );
    faults.fields("The request", body, FIELDS);
    faults.unless(body["model"].is_string(), || {
        "The request names no model.".to_owned()
    });
    faults.unless(body["stream"] == true, || {
        "The request does not ask for a stream.".to_owned()
    });
    faults.positive("max_tokens", &body["max_tokens"]);
    thinking(body, faults);
    strict::output_config(&body["output_config"], faults);
    system(&body["system"], faults);

    let mut known = tools(&body["tools"], faults);
    let has_tools = !known.is_empty();
    known.extend_from_slice(made_up);
    let has_calls = transcript(request, &known, faults);
    faults.unless(has_tools || !has_calls, || {
        "The history has tool blocks, but the request defines no tools.".to_owned()
    });

    let marks = [&body["tools"], &body["system"], &body["messages"]].map(cache_marks);
    faults.unless(marks.iter().sum::<usize>() <= MAX_CACHE_MARKS, || {
        format!("More than {MAX_CACHE_MARKS} places are marked for the cache.")
    });
}

fn thinking(body: &Value, faults: &mut Faults) {
    if body["thinking"]["type"] == "enabled" {
        let budget = body["thinking"]["budget_tokens"]
            .as_u64()
            .unwrap_or_default();
        let max_tokens = body["max_tokens"].as_u64().unwrap_or_default();
        faults.unless((MIN_THINKING_TOKENS..max_tokens).contains(&budget), || {
            format!("The thinking budget {budget} is not between 1024 and max_tokens.")
        });
    }
}

fn system(system: &Value, faults: &mut Faults) {
    match system {
        Value::Null | Value::String(_) => {}
        Value::Array(blocks) => {
            for block in blocks {
                block::text("A system block", block, faults);
            }
        }
        _ => faults.add("`system` is neither a string nor a list of blocks."),
    }
}

/// Checks the tools and returns their names.
fn tools(tools: &Value, faults: &mut Faults) -> Vec<String> {
    let tools: Vec<&Value> = tools.as_array().into_iter().flatten().collect();
    for tool in &tools {
        let known = [
            "name",
            "description",
            "input_schema",
            "cache_control",
            "type",
            "strict",
        ];
        faults.fields("A tool", tool, &known);
        faults.unless(tool["input_schema"]["type"] == "object", || {
            format!(
                "The schema of the tool {} is not that of an object.",
                tool["name"]
            )
        });
    }
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
    faults.tool_names(&names);
    names
        .into_iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

/// Checks all messages and returns whether they contain tool calls.
fn transcript(request: &Request, known_tools: &[String], faults: &mut Faults) -> bool {
    let mut has_calls = false;
    let mut open = Vec::new();
    let mut role = "nobody";
    for (index, message) in request.messages().enumerate() {
        role = if index % 2 == 0 { "user" } else { "assistant" };
        let place = format!("Message {index} ({role})");
        faults.fields(&place, message, &["role", "content"]);
        faults.unless(message["role"] == role, || {
            format!(
                "Message {index} has the role {} and should be {role}'s.",
                message["role"]
            )
        });
        let blocks = Blocks::check(&place, message, known_tools, faults);
        faults.pairing(&place, &open, &blocks.results);
        has_calls |= !blocks.calls.is_empty();
        open = blocks.calls;
    }
    faults.unless(role == "user", || {
        format!("The last message is {role}'s and not the user's.")
    });
    has_calls
}

fn cache_marks(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(cache_marks).sum(),
        Value::Object(fields) => {
            let here = usize::from(fields.contains_key("cache_control"));
            here + fields.get("content").map_or(0, cache_marks)
        }
        _ => 0,
    }
}
