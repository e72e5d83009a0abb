//! Requests to the Messages API.

use serde_json::{Value, json};
use shared::message::{AssistantMessage, Block};

use crate::call_id::WireIds;
use crate::media::{AcceptedMedia, MediaForm};
use crate::name::ToolNames;
use crate::{Media, ModelMessage, ModelRequest, Part, RenderContext, ToolResult, ToolSpec};

/// The number of user messages at the end that carry a cache marker. The last one writes the cache, and the one
/// before finds the cache of the previous call. With the markers of the tools and the system prompt, which other jobs
/// may share, these are the four that the API allows.
const MARKED_MESSAGES: usize = 2;

/// Renders the body of the request.
pub(super) fn render(request: &ModelRequest<'_>, to: &RenderContext<'_>) -> Value {
    let mut body = json!({
        "model": to.model_id,
        "max_tokens": request.max_tokens,
        "stream": true,
        "messages": messages(request.messages, to),
    });
    let tools = request.tools.iter().map(|spec| tool(spec, to.names));
    let mut tools: Vec<Value> = tools.collect();
    tools.last_mut().into_iter().for_each(mark);
    if !is_blank(request.system) {
        let mut system = json!({ "type": "text", "text": request.system });
        mark(&mut system);
        body["system"] = json!([system]);
    }
    if !tools.is_empty() {
        body["tools"] = Value::Array(tools);
    }
    if let Some(schema) = request.output_schema {
        body["output_config"] = json!({ "format": { "type": "json_schema", "schema": schema } });
    }
    body
}

fn tool(spec: &ToolSpec, names: &ToolNames) -> Value {
    json!({
        "name": names.to_wire(&spec.name),
        "description": spec.description,
        "input_schema": spec.input_schema,
    })
}

fn messages(messages: &[ModelMessage], to: &RenderContext<'_>) -> Vec<Value> {
    let ids = WireIds::of(messages, to.name);
    let mut rendered: Vec<Value> = Vec::new();
    for message in messages {
        let (role, content) = match message {
            ModelMessage::User(parts) => ("user", user(parts, &ids, to.takes)),
            ModelMessage::Assistant(message) => ("assistant", assistant(message, &ids, to)),
        };
        // The API rejects a message without content. The neighbours of a missing message are merged.
        match rendered.last_mut() {
            _ if content.is_empty() => {}
            Some(last) if last["role"] == role => {
                let before = last["content"].as_array_mut();
                before
                    .into_iter()
                    .for_each(|blocks| blocks.extend_from_slice(&content));
            }
            _ => rendered.push(json!({ "role": role, "content": content })),
        }
    }
    let users = rendered
        .iter_mut()
        .rev()
        .filter(|message| message["role"] == "user");
    for message in users.take(MARKED_MESSAGES) {
        let content = message["content"].as_array_mut();
        content
            .into_iter()
            .filter_map(|blocks| blocks.last_mut())
            .for_each(mark);
    }
    rendered
}

/// Renders a user message. Results come first, because otherwise the API does not find them.
fn user(parts: &[Part], ids: &WireIds<'_>, takes: AcceptedMedia) -> Vec<Value> {
    let results = parts.iter().filter_map(|part| match part {
        Part::ToolResult(result) => Some(tool_result(result, ids, takes)),
        _ => None,
    });
    let others = parts.iter().filter_map(|part| match part {
        Part::Text(text) => text_block(text),
        Part::Media(file) => Some(media(file, takes)),
        Part::ToolResult(_) => None,
    });
    results.chain(others).collect()
}

/// Renders a reply of the model. Returns no blocks if only thoughts are left, because the API rejects such a message.
fn assistant(message: &AssistantMessage, ids: &WireIds<'_>, to: &RenderContext<'_>) -> Vec<Value> {
    let is_own = message.model == to.name;
    let blocks = message.content.iter().filter_map(|block| match block {
        Block::Text { text } => text_block(text),
        Block::Reasoning { provider, .. } => {
            provider.clone().filter(|form| is_own && is_thought(form))
        }
        Block::ToolCall(call) => Some(json!({
            "type": "tool_use",
            "id": ids.to_wire(&call.call_id),
            "name": to.names.to_wire(&call.tool),
            "input": call.input,
        })),
    });
    let blocks: Vec<Value> = blocks.collect();
    if blocks.iter().all(is_thought) {
        Vec::new()
    } else {
        blocks
    }
}

/// Whether this is a thought in the form of this API.
fn is_thought(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn tool_result(result: &ToolResult, ids: &WireIds<'_>, takes: AcceptedMedia) -> Value {
    let id = ids.to_wire(&result.call_id);
    let mut block = json!({ "type": "tool_result", "tool_use_id": id });
    if !result.images.is_empty() {
        let images = result.images.iter().map(|image| result_image(image, takes));
        block["content"] = text_block(&result.text).into_iter().chain(images).collect();
    } else if !is_blank(&result.text) {
        block["content"] = json!(result.text);
    }
    if result.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// Returns a text block, or `None` for a blank text, which the API rejects.
fn text_block(text: &str) -> Option<Value> {
    (!is_blank(text)).then(|| json!({ "type": "text", "text": text }))
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

fn result_image(image: &Media, takes: AcceptedMedia) -> Value {
    match image.form(takes) {
        MediaForm::Image(_) => media(image, takes),
        _ => json!({ "type": "text", "text": image.image_mention() }),
    }
}

fn media(file: &Media, takes: AcceptedMedia) -> Value {
    let source =
        |media_type| json!({ "type": "base64", "media_type": media_type, "data": file.base64() });
    match file.form(takes) {
        MediaForm::Image(media_type) => json!({ "type": "image", "source": source(media_type) }),
        MediaForm::Pdf => {
            json!({ "type": "document", "source": source("application/pdf"), "title": file.name })
        }
        MediaForm::Audio(_) | MediaForm::Mention => {
            json!({ "type": "text", "text": file.mention() })
        }
    }
}

fn mark(block: &mut Value) {
    block["cache_control"] = json!({ "type": "ephemeral" });
}

#[cfg(test)]
mod tests;
