//! An upper bound of the input tokens of a request.

use crate::image_tokens;
use crate::transcript::Measured;
use worker_model::{Media, ModelMessage, ModelRequest, Part, ToolSpec};

/// Tokens that a provider adds: role markers and explanations of tools.
const FRAME_TOKENS: u64 = 1_024;
/// Tokens that mark a message or a part of a message.
const MARK_TOKENS: u64 = 16;
/// The maximum number of tokens of a document or recording if the context window is unknown.
const FILE_TOKENS: u64 = 1_000_000;

/// The known token counts of a request.
#[derive(Clone, Copy, Default)]
pub(super) struct KnownCounts {
    /// The messages that the provider has counted.
    pub(super) measured: Option<Measured>,
    /// Whether the measured count includes this system prompt and these tools.
    pub(super) is_same_head: bool,
    /// The context window of the model in tokens.
    pub(super) window: Option<u32>,
}

/// Returns an upper bound of the input tokens of a request: the counted tokens, plus the bytes of the rest, because a
/// token has at least one byte.
pub(super) fn input_upper_bound(request: &ModelRequest<'_>, known: KnownCounts) -> u64 {
    let tools: u64 = request.tools.iter().map(|it| tool(it)).sum();
    let schema = request
        .output_schema
        .map_or(0, |it| it.to_string().len() as u64);
    let head = FRAME_TOKENS + request.system.len() as u64 + tools + schema;
    let (counted, rest) = match known.measured {
        Some(measured) => {
            let reply = &request.messages[measured.messages - 1];
            // The provider may count a reply differently as input than as output.
            let reply = message(reply, known.window).max(measured.output_tokens);
            let head = if known.is_same_head { 0 } else { head };
            let rest = &request.messages[measured.messages..];
            (measured.input_tokens + reply + head, rest)
        }
        None => (head, request.messages),
    };
    let rest: u64 = rest.iter().map(|it| message(it, known.window)).sum();
    counted + rest
}

fn tool(spec: &ToolSpec) -> u64 {
    let schema = spec.input_schema.to_string();
    MARK_TOKENS + (spec.name.len() + spec.description.len() + schema.len()) as u64
}

fn message(message: &ModelMessage, window: Option<u32>) -> u64 {
    let parts = match message {
        ModelMessage::User(parts) => parts.iter().map(|it| part(it, window)).sum(),
        ModelMessage::Assistant(reply) => {
            let content = serde_json::to_string(&reply.content);
            content.expect("blocks have string keys").len() as u64
        }
    };
    MARK_TOKENS + parts
}

fn part(part: &Part, window: Option<u32>) -> u64 {
    let content = match part {
        Part::Text(text) => text.len() as u64,
        Part::ToolResult(result) => {
            let images: u64 = result.images.iter().map(|it| media(it, window)).sum();
            (result.call_id.len() + result.text.len()) as u64 + images
        }
        Part::Media(file) => media(file, window),
    };
    MARK_TOKENS + content
}

fn media(file: &Media, window: Option<u32>) -> u64 {
    let name = (file.name.len() + file.content_type.len()) as u64;
    let content = if file.content_type.starts_with("image/") {
        image_tokens::upper_bound(file.pixels)
    } else {
        // The number of pages or minutes is unknown. The provider refuses a file that the model cannot read.
        window.map_or(FILE_TOKENS, u64::from)
    };
    MARK_TOKENS + name + content
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bytes::Bytes;
    use serde_json::json;
    use shared::message::{AssistantMessage, Block, StopReason, Tokens};

    use super::*;

    fn user(text: &str) -> ModelMessage {
        ModelMessage::User(vec![Part::Text(text.to_owned())])
    }

    fn reply(text: &str) -> ModelMessage {
        ModelMessage::Assistant(AssistantMessage {
            content: vec![Block::Text { text: text.into() }],
            stop_reason: StopReason::EndTurn,
            usage: Tokens::default(),
            model: "m".into(),
        })
    }

    fn bound(messages: &[ModelMessage], known: KnownCounts) -> u64 {
        let tools = [Arc::new(ToolSpec {
            name: "shell.exec".into(),
            description: "d".repeat(200),
            input_schema: json!({"type": "object"}),
        })];
        let request = ModelRequest {
            system: &"s".repeat(3_000),
            tools: &tools,
            messages,
            max_tokens: 1,
            output_schema: None,
        };
        input_upper_bound(&request, known)
    }

    #[test]
    fn nothing_that_is_sent_is_left_out() {
        let bare = bound(&[user("")], KnownCounts::default());
        assert!(bare > 3_000 + 200 + "shell.exec".len() as u64, "{bare}");
        let longer = bound(&[user(&"ä".repeat(500))], KnownCounts::default());
        assert_eq!(longer - bare, 1_000);
        let turn = bound(
            &[user(""), reply(&"r".repeat(70)), user("more")],
            KnownCounts::default(),
        );
        assert!(turn >= bare + 74, "{turn}");
    }

    #[test]
    fn what_was_counted_is_not_counted_by_its_bytes() {
        let messages = [user(&"x".repeat(100_000)), reply("short"), user("and now?")];
        let measured = Some(Measured {
            messages: 2,
            input_tokens: 21_000,
            output_tokens: 900,
        });
        let same = KnownCounts {
            measured,
            is_same_head: true,
            window: None,
        };
        let expected = 21_000 + 900 + 2 * MARK_TOKENS + 8;
        assert_eq!(bound(&messages, same), expected);
        let other = KnownCounts {
            is_same_head: false,
            ..same
        };
        assert!(bound(&messages, other) > expected + 3_200);
    }

    #[test]
    fn files_are_bounded_by_what_they_may_take() {
        let file = |content_type: &str| {
            [ModelMessage::User(vec![Part::Media(Media {
                name: "f".into(),
                content_type: content_type.into(),
                data: Bytes::from_static(b"tiny"),
                pixels: None,
            })])]
        };
        let known = KnownCounts {
            window: Some(200_000),
            ..KnownCounts::default()
        };
        assert!(bound(&file("image/png"), known) > image_tokens::upper_bound(None));
        assert!(bound(&file("image/png"), known) < 60_000);
        assert!(bound(&file("application/pdf"), known) > 200_000);
        assert!(bound(&file("audio/wav"), KnownCounts::default()) > FILE_TOKENS);
    }
}
