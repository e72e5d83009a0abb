//! Images of tool results. The older ones are removed first when the transcript outgrows its limits.

use super::Transcript;
use crate::image_tokens;
use worker_model::{ModelMessage, Part, ToolResult};

impl Transcript {
    /// Returns the number of images of tool results.
    pub(crate) fn image_count(&self) -> usize {
        count(&self.messages)
    }

    /// Returns the number of images that no reply has followed yet.
    pub(crate) fn unseen_image_count(&self) -> usize {
        let is_reply = |message: &ModelMessage| matches!(message, ModelMessage::Assistant(_));
        let after_reply = self
            .messages
            .iter()
            .rposition(is_reply)
            .map_or(0, |at| at + 1);
        count(&self.messages[after_reply..])
    }

    /// Removes all images of tool results except the last `kept`. Returns the approximate number of tokens saved.
    ///
    /// Token counts of earlier replies stay valid as upper bounds, because they include the removed images.
    pub(crate) fn keep_images(&mut self, kept: usize) -> u64 {
        let mut left = kept;
        let mut saved = 0;
        for result in self.messages.iter_mut().rev().flat_map(results) {
            let removed = result.images.len().saturating_sub(left);
            left = left.saturating_sub(result.images.len());
            let removed = result.images.drain(..removed);
            saved += removed
                .map(|it| image_tokens::approximate(it.pixels))
                .sum::<u64>();
        }
        saved
    }
}

/// Returns the results of a message, last first.
fn results(message: &mut ModelMessage) -> impl Iterator<Item = &mut ToolResult> {
    let parts = match message {
        ModelMessage::User(parts) => &mut parts[..],
        ModelMessage::Assistant(_) => &mut [],
    };
    parts.iter_mut().rev().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        Part::Text(_) | Part::Media(_) => None,
    })
}

fn count(messages: &[ModelMessage]) -> usize {
    let parts = messages.iter().filter_map(|message| match message {
        ModelMessage::User(parts) => Some(parts),
        ModelMessage::Assistant(_) => None,
    });
    let images = parts.flatten().map(|part| match part {
        Part::ToolResult(result) => result.images.len(),
        Part::Text(_) | Part::Media(_) => 0,
    });
    images.sum()
}
