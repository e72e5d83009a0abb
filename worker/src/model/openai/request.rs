//! What we ask, as Chat Completions wants it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use shared::message::{AssistantMessage, ToolCall};

use super::thought;
use crate::model::name::ToolNames;
use crate::model::{Media, Message, Part, Request, ToolResult, ToolSpec};

/// Renders the body of the request, but for what depends on the dialect.
pub(super) fn render(request: &Request<'_>, names: &ToolNames, model_id: &str) -> Value {
    let mut messages = Vec::new();
    if !request.system.trim().is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    for message in request.messages {
        match message {
            Message::User(parts) => {
                messages.extend(results(parts));
                messages.extend(user(parts));
            }
            Message::Assistant(message) => messages.extend(assistant(message, names)),
        }
    }
    let mut body = json!({ "model": model_id, "stream": true, "messages": messages });
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(|spec| tool(spec, names)).collect();
    }
    body
}

fn tool(spec: &ToolSpec, names: &ToolNames) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": names.to_wire(spec.name),
            "description": spec.description,
            "parameters": spec.input_schema,
        },
    })
}

/// Results must directly follow the message with the calls, so they precede all else.
fn results(parts: &[Part]) -> impl Iterator<Item = Value> {
    parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(json!({
            "role": "tool",
            "tool_call_id": result.call_id,
            "content": result_text(result),
        })),
        _ => None,
    })
}

/// There is no field for failure, so the text has to say it.
fn result_text(result: &ToolResult) -> String {
    let says_so = result
        .text
        .get(..5)
        .is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if result.is_error && !says_so {
        format!("Error: {}", result.text)
    } else {
        result.text.clone()
    }
}

fn user(parts: &[Part]) -> Option<Value> {
    let content: Vec<Value> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => (!text.is_empty()).then(|| text_part(text)),
            Part::Media(file) => Some(media(file)),
            Part::ToolResult(_) => None,
        })
        .collect();
    if content.is_empty() {
        return None;
    }
    // Not every server takes a list, so text alone goes as a string.
    let texts: Option<Vec<&str>> = content
        .iter()
        .map(|part| part.get("text")?.as_str())
        .collect();
    let content = texts.map_or_else(|| json!(content), |texts| json!(texts.join("\n\n")));
    Some(json!({ "role": "user", "content": content }))
}

/// The reply, handed back; nothing if it said nothing, which some servers refuse.
fn assistant(message: &AssistantMessage, names: &ToolNames) -> Option<Value> {
    let text = message.text();
    let calls: Vec<Value> = message
        .tool_calls()
        .map(|call| tool_call(call, names))
        .collect();
    if text.is_empty() && calls.is_empty() {
        return None;
    }
    let mut rendered = json!({
        "role": "assistant",
        "content": (!text.is_empty()).then_some(text),
    });
    if !calls.is_empty() {
        rendered["tool_calls"] = Value::Array(calls);
    }
    thought::hand_back(&message.content, &mut rendered);
    Some(rendered)
}

fn tool_call(call: &ToolCall, names: &ToolNames) -> Value {
    json!({
        "id": call.call_id,
        "type": "function",
        "function": { "name": names.to_wire(&call.tool), "arguments": call.input.to_string() },
    })
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn media(file: &Media) -> Value {
    let data_url = |media_type| format!("data:{media_type};base64,{}", STANDARD.encode(&file.data));
    let image =
        |media_type| json!({ "type": "image_url", "image_url": { "url": data_url(media_type) } });
    let audio = |format| {
        let data = STANDARD.encode(&file.data);
        json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } })
    };
    match file.essence() {
        "image/jpeg" | "image/jpg" => image("image/jpeg"),
        other @ ("image/png" | "image/gif" | "image/webp") => image(other),
        pdf @ "application/pdf" => json!({
            "type": "file",
            "file": { "filename": file.name, "file_data": data_url(pdf) },
        }),
        "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => audio("wav"),
        "audio/mpeg" | "audio/mp3" => audio("mp3"),
        _ => text_part(&file.mention()),
    }
}

#[cfg(test)]
mod tests;
