//! A transcript rendered as one text, for a summary or for a model without tools.

use shared::message::Block;

use worker_model::{ModelMessage, Part};
use worker_workspace::HeadTailBuffer;

/// The maximum number of bytes of one tool result.
const MAX_RESULT_BYTES: usize = 4_000;

/// Renders the messages as one text of about `max_bytes` at most. A longer text is cut to its head and tail.
pub(crate) fn render_as_text(messages: &[ModelMessage], max_bytes: usize) -> String {
    let mut buffer = HeadTailBuffer::new(max_bytes);
    for message in messages {
        let lines: Vec<_> = match message {
            ModelMessage::User(parts) => parts.iter().map(user).collect(),
            ModelMessage::Assistant(reply) => reply.content.iter().filter_map(assistant).collect(),
        };
        for line in lines {
            buffer.push(line.as_bytes());
            buffer.push(b"\n\n");
        }
    }
    buffer.finish().text
}

fn user(part: &Part) -> String {
    match part {
        Part::Text(text) => format!("PERSON: {text}"),
        Part::Media(file) => format!("PERSON: [the file {}, {}]", file.name, file.content_type),
        Part::ToolResult(result) => {
            let outcome = if result.is_error { "FAILURE" } else { "RESULT" };
            let mut buffer = HeadTailBuffer::new(MAX_RESULT_BYTES);
            buffer.push(result.text.as_bytes());
            let images = result.images.iter();
            let images: String = images
                .map(|it| format!("\n[the image {}]", it.name))
                .collect();
            format!("{outcome}: {}{images}", buffer.finish().text)
        }
    }
}

/// Returns the line of a block, or `None` for reasoning.
fn assistant(block: &Block) -> Option<String> {
    match block {
        Block::Text { text } => Some(format!("ASSISTANT: {text}")),
        Block::ToolCall(call) => Some(format!("ASSISTANT CALLS {}: {}", call.tool, call.input)),
        Block::Reasoning { .. } => None,
    }
}
