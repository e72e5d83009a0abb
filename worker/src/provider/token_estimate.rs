//! An estimate of the tokens of a call, for the quota of its provider. The usage of the call replaces it.

use worker_model::{ModelMessage, ModelRequest, Part};

/// The approximate number of bytes of text per token.
const TOKEN_BYTES: usize = 4;
/// The approximate number of tokens of a file.
const FILE_TOKENS: usize = 1500;
/// The approximate number of tokens of a reply. The cap says little, because it allows for the longest reply.
const REPLY_TOKENS: u32 = 1000;

/// Returns the approximate number of tokens that a call will use.
pub(super) fn estimate(request: &ModelRequest<'_>) -> f64 {
    let tools = request.tools.iter();
    let tools: usize = tools
        .map(|tool| tool.description.len() + tool.input_schema.to_string().len())
        .sum();
    let messages: usize = request.messages.iter().map(message).sum();
    let input = (request.system.len() + tools) / TOKEN_BYTES + messages;
    input as f64 + f64::from(request.max_tokens.min(REPLY_TOKENS))
}

fn message(message: &ModelMessage) -> usize {
    match message {
        ModelMessage::User(parts) => parts.iter().map(part).sum(),
        ModelMessage::Assistant(reply) => {
            let content = serde_json::to_string(&reply.content);
            content.map_or(0, |json| json.len()) / TOKEN_BYTES
        }
    }
}

fn part(part: &Part) -> usize {
    match part {
        Part::Text(text) => text.len() / TOKEN_BYTES,
        Part::Media(_) => FILE_TOKENS,
        Part::ToolResult(result) => {
            result.text.len() / TOKEN_BYTES + result.images.len() * FILE_TOKENS
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_counts_by_its_bytes_and_a_reply_by_its_usual_length() {
        let messages = [ModelMessage::User(vec![Part::Text("x".repeat(4000))])];
        let request = ModelRequest {
            system: &"s".repeat(400),
            tools: &[],
            messages: &messages,
            max_tokens: 16_000,
            output_schema: None,
        };
        assert_eq!(estimate(&request), 100.0 + 1000.0 + 1000.0);
    }
}
