//! Cuts of a transcript that has grown too long.

use shared::id::JobId;

use super::render::render_as_text;
use super::{JobSegment, Transcript};
use crate::image_tokens;
use worker_model::{ModelMessage, Part};

/// The approximate number of bytes of text per token.
const TOKEN_BYTES: u64 = 4;

/// The maximum number of bytes of earlier jobs with tools, rendered for a model without tools.
const MAX_RENDERED_BYTES: usize = 200_000;

const ABOUT_SUMMARY: &str = "[This is a summary of all that was said and done before:]";
const AFTER_SUMMARY: &str = "[What follows is as it was said.]";

/// A position before a reply. The messages before it can be summarised. Those after it are complete by themselves,
/// each call with its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cut {
    /// The index of the message with the reply.
    at: usize,
    /// The job in which the reply was made.
    pub(crate) job: JobId,
    /// The number of the reply in its job, counted from the last reply, which is 1.
    pub(crate) from_end: usize,
}

impl Transcript {
    /// Returns the approximate number of tokens that the model would read now.
    pub(crate) fn tokens(&self) -> u64 {
        let measured = self.messages.iter().enumerate().skip(self.measured_from);
        let last = measured.rev().find_map(|(at, message)| match message {
            ModelMessage::Assistant(reply) if reply.usage.input_tokens > 0 => {
                Some((at, reply.usage.input_tokens + reply.usage.output_tokens))
            }
            _ => None,
        });
        let (known, rest) = match last {
            Some((at, tokens)) => (tokens, &self.messages[at + 1..]),
            None => (0, &self.messages[..]),
        };
        known + rest.iter().map(tokens).sum::<u64>()
    }

    /// Returns the cut that leaves about `keep_tokens`, or a little more. `None` if nothing would be summarised.
    pub(crate) fn cut(&self, keep_tokens: u64) -> Option<Cut> {
        let mut kept = 0;
        let mut best = None;
        for (at, message) in self.messages.iter().enumerate().rev() {
            kept += tokens(message);
            if kept > keep_tokens && best.is_some() {
                break;
            }
            if matches!(message, ModelMessage::Assistant(_)) {
                best = Some(at);
            }
        }
        // Before the second message there is only a prompt.
        let at = best.filter(|at| *at >= 2)?;
        let number = self.segment_of(at)?;
        let end = self.segments.get(number + 1);
        let end = end.map_or(self.messages.len(), |next| next.begins_at);
        let replies = self.messages[at..end].iter();
        let replies = replies.filter(|message| matches!(message, ModelMessage::Assistant(_)));
        Some(Cut {
            at,
            job: self.segments[number].job,
            from_end: replies.count(),
        })
    }

    fn segment_of(&self, at: usize) -> Option<usize> {
        let mut segments = self.segments.iter();
        segments
            .rposition(|segment| segment.begins_at < at)
            .or_else(|| self.segments.len().checked_sub(1))
    }

    /// Returns the messages before the cut.
    pub(crate) fn before(&self, cut: Cut) -> &[ModelMessage] {
        &self.messages[..cut.at]
    }

    /// Replaces the messages before the cut with a summary, except the prompt of the job that contains the cut.
    pub(crate) fn compact(&mut self, cut: Cut, summary: &str) {
        let number = self.segments.iter().rposition(|it| it.job == cut.job);
        self.segments.drain(..number.unwrap_or(0));
        let kept = self.messages.split_off(cut.at);
        let first = self.segments.first().map(|it| it.prompt.clone());
        let first = std::iter::once(part(summary)).chain(first.unwrap_or_default());
        self.messages = vec![ModelMessage::User(first.collect())];
        self.messages.extend(kept);
        for segment in &mut self.segments {
            segment.begins_at = (segment.begins_at + 1).saturating_sub(cut.at);
        }
        self.invalidate_token_counts();
    }

    /// Replaces all messages with a summary, which precedes the next prompt.
    pub(crate) fn load_summary(&mut self, summary: &str) {
        self.messages.clear();
        self.segments.clear();
        self.summary = Some(part(summary));
    }

    /// Renders earlier jobs as text if they have calls, because a request without tools must not have calls.
    pub(crate) fn render_calls_as_text(&mut self) {
        let messages = self.messages.iter();
        let mut replies = messages.filter_map(|message| match message {
            ModelMessage::Assistant(reply) => Some(reply),
            ModelMessage::User(_) => None,
        });
        if replies.any(|reply| reply.tool_calls().next().is_some()) {
            self.load_summary(&render_as_text(&self.messages, MAX_RENDERED_BYTES));
        }
    }

    /// Replaces all messages with a summary, except the prompt of the running job.
    pub(crate) fn restart(&mut self, summary: &str) {
        let Some(JobSegment { job, prompt, .. }) = self.segments.pop() else {
            return;
        };
        let first = std::iter::once(part(summary)).chain(prompt.clone());
        self.messages = vec![ModelMessage::User(first.collect())];
        self.segments = vec![JobSegment {
            job,
            prompt,
            begins_at: 0,
        }];
    }

    /// Marks the token counts of the replies so far as outdated, because they include messages that were removed.
    pub(crate) fn invalidate_token_counts(&mut self) {
        self.measured_from = self.messages.len();
    }
}

fn part(summary: &str) -> Part {
    Part::Text(format!("{ABOUT_SUMMARY}\n\n{summary}\n\n{AFTER_SUMMARY}"))
}

fn tokens(message: &ModelMessage) -> u64 {
    match message {
        ModelMessage::User(parts) => parts.iter().map(tokens_of_part).sum(),
        ModelMessage::Assistant(reply) => {
            let bytes = serde_json::to_string(&reply.content).map_or(0, |json| json.len());
            bytes as u64 / TOKEN_BYTES
        }
    }
}

fn tokens_of_part(part: &Part) -> u64 {
    match part {
        Part::Text(text) => text.len() as u64 / TOKEN_BYTES,
        Part::ToolResult(result) => {
            let images = result.images.iter();
            let images: u64 = images.map(|it| image_tokens::approximate(it.pixels)).sum();
            result.text.len() as u64 / TOKEN_BYTES + images
        }
        Part::Media(file) => image_tokens::approximate(file.pixels),
    }
}

#[cfg(test)]
mod tests;
