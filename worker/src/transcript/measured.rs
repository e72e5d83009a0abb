//! The part of a transcript whose tokens a provider has counted.

use shared::model_name::ModelName;

use super::Transcript;
use worker_model::ModelMessage;

/// The token counts of a provider for the start of a transcript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    /// The number of counted messages, including the reply.
    pub(crate) messages: usize,
    /// The tokens before the reply, including system prompt and tools.
    pub(crate) input_tokens: u64,
    /// The tokens of the reply.
    pub(crate) output_tokens: u64,
}

impl Transcript {
    /// Returns the last counts of this model in this job, if they still apply to the messages. Other
    /// models count differently.
    pub(crate) fn measured(&self, model: &ModelName) -> Option<Measured> {
        let model = model.to_string();
        let begins_at = self.segments.last().map_or(0, |it| it.begins_at);
        let from = self.measured_from.max(begins_at);
        let mut messages = self.messages.iter().enumerate().skip(from).rev();
        messages.find_map(|(at, message)| match message {
            ModelMessage::Assistant(reply) if reply.model == model && reply.usage.is_counted() => {
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
