//! Requests to Chat Completions.

use serde_json::{Value, json};
use shared::message::{AssistantMessage, ToolCall};

use super::dialect::Dialect;
use super::thought;
use crate::call_id::WireIds;
use crate::media::{AcceptedMedia, MediaForm};
use crate::name::ToolNames;
use crate::{Media, ModelMessage, ModelRequest, Part, RenderContext, ToolResult, ToolSpec};

/// Renders the body of the request.
pub(super) fn render(
    request: &ModelRequest<'_>,
    to: &RenderContext<'_>,
    dialect: Dialect,
) -> Value {
    let mut body = json!({
        "model": to.model_id,
        "stream": true,
        "messages": messages(request, to, dialect),
    });
    if !request.tools.is_empty() {
        let tools = request.tools.iter().map(|spec| tool(spec, to.names));
        body["tools"] = tools.collect();
    }
    if let Some(schema) = request.output_schema.filter(|_| dialect.structured_output) {
        body["response_format"] = json!({
            "type": "json_schema",
            "json_schema": { "name": "result", "strict": true, "schema": schema },
        });
    }
    dialect.apply(&mut body, request.max_tokens);
    body
}

/// Renders the messages. Everything between two replies becomes one user message, because some
/// servers reject two in a row.
fn messages(request: &ModelRequest<'_>, to: &RenderContext<'_>, dialect: Dialect) -> Vec<Value> {
    let ids = WireIds::of(request.messages, to.name);
    let mut rendered = Vec::new();
    if !request.system.trim().is_empty() {
        rendered.push(json!({ "role": "system", "content": request.system }));
    }
    let mut parts = Vec::new();
    for message in request.messages {
        match message {
            ModelMessage::User(more) => parts.extend(more),
            ModelMessage::Assistant(message) => {
                if let Some(reply) = assistant(message, &ids, to, dialect) {
                    rendered.extend(our_side(&std::mem::take(&mut parts), &ids, to.takes));
                    rendered.push(reply);
                }
            }
        }
    }
    rendered.extend(our_side(&parts, &ids, to.takes));
    rendered
}

/// Renders the parts of one side. Results come first, because they must directly follow the message with the calls.
/// They contain only text, so their images follow in the user message.
fn our_side(parts: &[&Part], ids: &WireIds<'_>, takes: AcceptedMedia) -> Vec<Value> {
    let results = parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(json!({
            "role": "tool",
            "tool_call_id": ids.to_wire(&result.call_id),
            "content": result_text(result),
        })),
        _ => None,
    });
    results.chain(user(parts, takes)).collect()
}

fn tool(spec: &ToolSpec, names: &ToolNames) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": names.to_wire(&spec.name),
            "description": spec.description,
            "parameters": spec.input_schema,
        },
    })
}

/// Returns the text of a result. There is no field for failure, so the text states it.
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

fn user(parts: &[&Part], takes: AcceptedMedia) -> Option<Value> {
    let images = parts.iter().flat_map(|part| match part {
        Part::ToolResult(result) => result_images(result, takes),
        _ => Vec::new(),
    });
    let others = parts.iter().filter_map(|part| match part {
        Part::Text(text) => (!text.is_empty()).then(|| text_part(text)),
        Part::Media(file) => Some(media(file, takes)),
        Part::ToolResult(_) => None,
    });
    let content: Vec<Value> = images.chain(others).collect();
    if content.is_empty() {
        return None;
    }
    // Some servers do not accept a list, so text alone is sent as a string.
    let texts: Option<Vec<&str>> = content
        .iter()
        .map(|part| part.get("text")?.as_str())
        .collect();
    let content = texts.map_or_else(|| json!(content), |texts| json!(texts.join("\n\n")));
    Some(json!({ "role": "user", "content": content }))
}

/// Renders a reply of the model. Returns `None` for an empty reply, which some servers reject.
fn assistant(
    message: &AssistantMessage,
    ids: &WireIds<'_>,
    to: &RenderContext<'_>,
    dialect: Dialect,
) -> Option<Value> {
    let is_own = message.model == to.name;
    // The model's own text was one string before thoughts and calls were extracted from it.
    let text = message.text_with(if is_own { "" } else { "\n\n" });
    let calls = message.tool_calls();
    let calls: Vec<Value> = calls.map(|call| tool_call(call, ids, to.names)).collect();
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
    if is_own && dialect.thoughts {
        thought::hand_back(&message.content, &mut rendered);
    }
    Some(rendered)
}

fn tool_call(call: &ToolCall, ids: &WireIds<'_>, names: &ToolNames) -> Value {
    json!({
        "id": ids.to_wire(&call.call_id),
        "type": "function",
        "function": { "name": names.to_wire(&call.tool), "arguments": call.input.to_string() },
    })
}

/// Returns the images of a result, each after a text that names its origin.
fn result_images(result: &ToolResult, takes: AcceptedMedia) -> Vec<Value> {
    let images = result.images.iter();
    let parts = images.flat_map(|image| match image.form(takes) {
        MediaForm::Image(_) => {
            let name = &image.name;
            let origin = format!("[Image of the tool result above: {name}]");
            vec![text_part(&origin), media(image, takes)]
        }
        _ => vec![text_part(&image.image_mention())],
    });
    parts.collect()
}

fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn media(file: &Media, takes: AcceptedMedia) -> Value {
    let data_url = |media_type| format!("data:{media_type};base64,{}", file.base64());
    match file.form(takes) {
        MediaForm::Image(media_type) => {
            json!({ "type": "image_url", "image_url": { "url": data_url(media_type) } })
        }
        MediaForm::Pdf => json!({
            "type": "file",
            "file": { "filename": file.name, "file_data": data_url("application/pdf") },
        }),
        MediaForm::Audio(format) => json!({
            "type": "input_audio",
            "input_audio": { "data": file.base64(), "format": format },
        }),
        MediaForm::Mention => text_part(&file.mention()),
    }
}

#[cfg(test)]
mod tests;
