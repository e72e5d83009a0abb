//! The part of a transcript whose tokens a provider has counted.

use shared::model_name::ModelName;

use super::Transcript;
use worker_model::Message;

/// What a model is known to have read and written of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    /// How many messages that were, its reply included.
    pub(crate) messages: usize,
    /// What was read before the reply, with system prompt and tools.
    pub(crate) input_tokens: u64,
    /// What was written.
    pub(crate) output_tokens: u64,
}

impl Transcript {
    /// What this model counted last, in this job and of what is still there as it was. Another
    /// model counts otherwise.
    pub(crate) fn measured(&self, model: &ModelName) -> Option<Measured> {
        let model = model.to_string();
        let begins_at = self.segments.last().map_or(0, |it| it.begins_at);
        let from = self.measured_from.max(begins_at);
        let mut messages = self.messages.iter().enumerate().skip(from).rev();
        messages.find_map(|(at, message)| match message {
            Message::Assistant(reply) if reply.model == model && reply.usage.is_counted() => {
                Some(Measured {
                    messages: at + 1,
                    input_tokens: reply.usage.input_tokens,
                    output_tokens: reply.usage.output_tokens,
                })
            }
            _ => None,
        })
    }
}
