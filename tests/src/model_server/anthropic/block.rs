//! Anthropic's rules for the content of messages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::model_server::fault::{Faults, is_name_char};
use crate::model_server::given;

/// The largest image in bytes of base64.
const MAX_IMAGE_BYTES: usize = 5 * 1024 * 1024;

/// The longest edge of an image in pixels.
const MAX_IMAGE_EDGE: u32 = 8_000;

/// The ids of the tool calls and of the tool results in a message.
#[derive(Default)]
pub(super) struct Blocks {
    pub(super) calls: Vec<String>,
    pub(super) results: Vec<String>,
}

impl Blocks {
    /// Checks the content of a message and returns its calls and results.
    pub(super) fn check(
        place: &str,
        message: &Value,
        known_tools: &[String],
        faults: &mut Faults,
    ) -> Self {
        let mut found = Self::default();
        let blocks = match &message["content"] {
            Value::String(content) => {
                not_blank(place, content, faults);
                return found;
            }
            Value::Array(blocks) => blocks,
            _ => {
                faults.add(format!("{place} has no content."));
                return found;
            }
        };
        faults.unless(!blocks.is_empty(), || {
            format!("{place} has an empty content.")
        });
        let mut has_other = false;
        for block in blocks {
            match (message["role"].as_str(), block["type"].as_str()) {
                (_, Some("text")) => text(place, block, faults),
                (Some("user"), Some("image")) => image(place, block, faults),
                (Some("user"), Some("document")) => document(place, block, faults),
                (Some("user"), Some("tool_result")) => {
                    faults.unless(!has_other, || {
                        format!("{place} has other blocks before its tool results.")
                    });
                    result(place, block, faults);
                    found.results.push(id_of(&block["tool_use_id"]));
                }
                (Some("assistant"), Some("thinking")) => thinking(place, block, faults),
                (Some("assistant"), Some("redacted_thinking")) => {
                    faults.fields(place, block, &["type", "data"]);
                }
                (Some("assistant"), Some("tool_use")) => {
                    call(place, block, known_tools, faults);
                    found.calls.push(id_of(&block["id"]));
                }
                _ => faults.add(format!(
                    "{place} cannot have a block of type {}.",
                    block["type"]
                )),
            }
            has_other |= block["type"] != "tool_result";
        }
        found
    }
}

pub(super) fn text(place: &str, block: &Value, faults: &mut Faults) {
    faults.fields(
        place,
        block,
        &["type", "text", "cache_control", "citations"],
    );
    not_blank(place, block["text"].as_str().unwrap_or_default(), faults);
}

fn not_blank(place: &str, text: &str, faults: &mut Faults) {
    faults.unless(!text.trim().is_empty(), || {
        format!("{place} has a blank text block.")
    });
}

fn image(place: &str, block: &Value, faults: &mut Faults) {
    faults.fields(place, block, &["type", "source", "cache_control"]);
    let source = &block["source"];
    match source["type"].as_str() {
        Some("base64") => {
            faults.fields(place, source, &["type", "media_type", "data"]);
            let media_type = source["media_type"].as_str().unwrap_or_default();
            let data = source["data"].as_str().unwrap_or_default();
            faults.image(&format!("An image of {place}"), media_type, data);
            faults.unless(data.len() <= MAX_IMAGE_BYTES, || {
                format!("An image of {place} has {} bytes of base64.", data.len())
            });
            let edge = longest_edge(media_type, data);
            faults.unless(edge <= MAX_IMAGE_EDGE, || {
                format!("An image of {place} has an edge of {edge} pixels.")
            });
        }
        Some("url") => faults.fields(place, source, &["type", "url"]),
        _ => faults.add(format!(
            "An image of {place} has the source {}.",
            source["type"]
        )),
    }
}

/// The longest edge of a PNG; 0 for other formats.
fn longest_edge(media_type: &str, base64: &str) -> u32 {
    let head = base64.get(..32).filter(|_| media_type == "image/png");
    let head = head.and_then(|head| STANDARD.decode(head).ok());
    let edges = head.as_deref().and_then(|head| head.get(16..24));
    let edges = edges.into_iter().flat_map(|edges| edges.chunks(4));
    let edges = edges.map(|edge| {
        edge.iter()
            .fold(0, |edge, byte| edge << 8 | u32::from(*byte))
    });
    edges.max().unwrap_or_default()
}

fn document(place: &str, block: &Value, faults: &mut Faults) {
    let known = [
        "type",
        "source",
        "title",
        "context",
        "citations",
        "cache_control",
    ];
    faults.fields(place, block, &known);
    let source = &block["source"];
    match (source["type"].as_str(), source["media_type"].as_str()) {
        (Some("base64"), Some("application/pdf")) => {
            let data = source["data"].as_str().unwrap_or_default();
            faults.file(&format!("A document of {place}"), data);
        }
        (Some("text"), Some("text/plain")) | (Some("url" | "content"), _) => {}
        _ => faults.add(format!(
            "A document of {place} is of a type that the provider refuses."
        )),
    }
}

fn thinking(place: &str, block: &Value, faults: &mut Faults) {
    faults.fields(place, block, &["type", "thinking", "signature"]);
    let signature = given::signature(block["thinking"].as_str().unwrap_or_default());
    faults.unless(block["signature"] == signature, || {
        format!("{place} has a thinking block whose signature is not that of its thought.")
    });
}

fn call(place: &str, block: &Value, known_tools: &[String], faults: &mut Faults) {
    faults.fields(
        place,
        block,
        &["type", "id", "name", "input", "cache_control"],
    );
    faults.called_tool(place, &block["name"], known_tools);
    faults.unless(block["input"].is_object(), || {
        format!(
            "{place} makes a call whose input is {} and not an object.",
            block["input"]
        )
    });
    faults.unless(id_of(&block["id"]).chars().all(is_name_char), || {
        format!("{place} makes a call with the invalid id {}.", block["id"])
    });
}

fn result(place: &str, block: &Value, faults: &mut Faults) {
    let known = [
        "type",
        "tool_use_id",
        "content",
        "is_error",
        "cache_control",
    ];
    faults.fields(place, block, &known);
    for inner in block["content"].as_array().into_iter().flatten() {
        match inner["type"].as_str() {
            Some("text") => text(place, inner, faults),
            _ if block["is_error"] == true => {
                faults.add(format!(
                    "{place} has an error result that is not only text."
                ));
            }
            Some("image") => image(place, inner, faults),
            Some("document") => document(place, inner, faults),
            _ => faults.add(format!(
                "{place} has a result with a block of {}.",
                inner["type"]
            )),
        }
    }
}

fn id_of(id: &Value) -> String {
    id.as_str().unwrap_or_default().to_owned()
}
