//! The rules of OpenAI and of compatible servers for requests.

use serde_json::Value;

use crate::model_server::fault::Faults;
use crate::model_server::request::Request;
use crate::model_server::strict;

const FIELDS: &[&str] = &[
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "max_completion_tokens",
    "max_tokens",
    "messages",
    "metadata",
    "modalities",
    "model",
    "n",
    "parallel_tool_calls",
    "presence_penalty",
    "prompt_cache_key",
    "reasoning_effort",
    "response_format",
    "safety_identifier",
    "seed",
    "service_tier",
    "stop",
    "store",
    "stream",
    "stream_options",
    "temperature",
    "tool_choice",
    "tools",
    "top_p",
    "user",
    "verbosity",
];

/// The longest id of a tool call in characters.
const MAX_ID_CHARS: usize = 40;

pub(in crate::model_server) fn check(request: &Request, made_up: &[String], faults: &mut Faults) {
    let body = &request.body;
    faults.headers(
        request,
        &[
            ("authorization", "Bearer …"),
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
    match (&body["max_tokens"], &body["max_completion_tokens"]) {
        (Value::Null, max) => faults.positive("max_completion_tokens", max),
        (max, Value::Null) => faults.positive("max_tokens", max),
        _ => faults.add("The request has both max_tokens and max_completion_tokens."),
    }
    strict::response_format(&body["response_format"], faults);
    let mut known = tools(&body["tools"], faults);
    known.extend_from_slice(made_up);
    transcript(request, &known, faults);
}

/// Checks the tools and returns their names.
fn tools(tools: &Value, faults: &mut Faults) -> Vec<String> {
    if tools.as_array().is_some_and(Vec::is_empty) {
        faults.add("`tools` is an empty list and should be left out.");
    }
    let tools: Vec<&Value> = tools.as_array().into_iter().flatten().collect();
    for tool in &tools {
        faults.fields("A tool", tool, &["type", "function"]);
        let function = &tool["function"];
        faults.fields(
            "A tool",
            function,
            &["name", "description", "parameters", "strict"],
        );
        faults.unless(tool["type"] == "function", || {
            format!(
                "The tool {} has the type {}.",
                function["name"], tool["type"]
            )
        });
        let parameters = &function["parameters"];
        faults.unless(
            parameters.is_null() || parameters["type"] == "object",
            || {
                format!(
                    "The schema of the tool {} is not that of an object.",
                    function["name"]
                )
            },
        );
    }
    let names: Vec<&Value> = tools.iter().map(|tool| &tool["function"]["name"]).collect();
    faults.tool_names(&names);
    names
        .into_iter()
        .filter_map(Value::as_str)
        .map(str::to_owned)
        .collect()
}

fn transcript(request: &Request, known_tools: &[String], faults: &mut Faults) {
    let mut open = Vec::new();
    let mut results = Vec::new();
    let mut role = "nobody";
    for (index, message) in request.messages().enumerate() {
        role = message["role"].as_str().unwrap_or_default();
        let place = format!("Message {index} ({role})");
        if role == "tool" {
            faults.fields(
                &place,
                message,
                &["role", "tool_call_id", "content", "name"],
            );
            let content = &message["content"];
            faults.unless(content.is_string() || content.is_array(), || {
                format!("{place} has no content.")
            });
            results.push(
                message["tool_call_id"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            );
            continue;
        }
        faults.pairing(
            &place,
            &std::mem::take(&mut open),
            &std::mem::take(&mut results),
        );
        match role {
            "system" | "developer" => {
                faults.fields(&place, message, &["role", "content", "name"]);
                faults.unless(index == 0, || format!("{place} should be the first."));
            }
            "user" => user(&place, message, faults),
            "assistant" => open = assistant(&place, message, known_tools, faults),
            _ => faults.add(format!("Message {index} has the role {}.", message["role"])),
        }
    }
    faults.pairing("The end of the request", &open, &results);
    faults.unless(matches!(role, "user" | "tool"), || {
        format!("The last message is {role}'s and not the user's or a tool's.")
    });
}

fn user(place: &str, message: &Value, faults: &mut Faults) {
    faults.fields(place, message, &["role", "content", "name"]);
    let parts = match &message["content"] {
        Value::String(_) => return,
        Value::Array(parts) if !parts.is_empty() => parts,
        _ => return faults.add(format!("{place} has no content.")),
    };
    for part in parts {
        match part["type"].as_str() {
            Some("text") => faults.unless(part["text"].is_string(), || {
                format!("{place} has a text part without text.")
            }),
            Some("image_url") => image(place, &part["image_url"]["url"], faults),
            Some("file") => {
                let data = part["file"]["file_data"].as_str().unwrap_or_default();
                let base64 = data.split_once(";base64,").map_or("", |(_, base64)| base64);
                faults.file(&format!("A file of {place}"), base64);
            }
            Some("input_audio") => {
                let audio = &part["input_audio"];
                let data = audio["data"].as_str().unwrap_or_default();
                faults.file(&format!("An audio of {place}"), data);
                faults.unless(audio["format"] == "wav" || audio["format"] == "mp3", || {
                    format!("An audio of {place} has the format {}.", audio["format"])
                });
            }
            _ => faults.add(format!(
                "{place} cannot have a part of type {}.",
                part["type"]
            )),
        }
    }
}

fn image(place: &str, url: &Value, faults: &mut Faults) {
    let url = url.as_str().unwrap_or_default();
    let data = url
        .strip_prefix("data:")
        .and_then(|data| data.split_once(";base64,"));
    match data {
        Some((media_type, base64)) => {
            faults.image(&format!("An image of {place}"), media_type, base64);
        }
        None => faults.unless(
            url.starts_with("https://") || url.starts_with("http://"),
            || format!("An image of {place} is neither a data URL nor a web address."),
        ),
    }
}

/// Checks an assistant message and returns the ids of its tool calls.
fn assistant(
    place: &str,
    message: &Value,
    known_tools: &[String],
    faults: &mut Faults,
) -> Vec<String> {
    let known = ["role", "content", "tool_calls", "name", "refusal"];
    let reasoning = ["reasoning_content", "reasoning"];
    faults.fields(place, message, &[&known[..], &reasoning[..]].concat());
    let calls = message["tool_calls"].as_array();
    faults.unless(!message["content"].is_null() || calls.is_some(), || {
        format!("{place} has neither content nor calls.")
    });
    faults.unless(calls.is_none_or(|calls| !calls.is_empty()), || {
        format!("{place} has an empty list of calls.")
    });
    let calls = calls.into_iter().flatten();
    calls
        .map(|call| self::call(place, call, known_tools, faults))
        .collect()
}

/// Checks a tool call and returns its id.
fn call(place: &str, call: &Value, known_tools: &[String], faults: &mut Faults) -> String {
    faults.fields(place, call, &["id", "type", "function"]);
    faults.fields(place, &call["function"], &["name", "arguments"]);
    faults.unless(call["type"] == "function", || {
        format!("{place} makes a call of type {}.", call["type"])
    });
    faults.called_tool(place, &call["function"]["name"], known_tools);
    faults.unless(call["function"]["arguments"].is_string(), || {
        format!("{place} makes a call whose arguments are not a string.")
    });
    let id = call["id"].as_str().unwrap_or_default();
    faults.unless((1..=MAX_ID_CHARS).contains(&id.len()), || {
        format!("{place} makes a call with the invalid id {}.", call["id"])
    });
    id.to_owned()
}
