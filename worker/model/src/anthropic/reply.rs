//! Replies of the Messages API, folded from their events.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::{Value, json};
use shared::message::{AssistantMessage, Block, StopReason, ToolCall};

use super::event::{AnthropicDelta, AnthropicEvent, AnthropicUsage, Start};
use crate::call_id::CallIds;
use crate::name::ToolNames;
use crate::reply::{Fold, shown};
use crate::{ModelError, ModelEvent, ModelMessage, arguments, failure, surrogate};

/// An incomplete reply.
pub(super) struct AnthropicReply {
    names: ToolNames,
    name: String,
    ids: CallIds,
    /// By the provider's index, in the order of arrival.
    drafts: Vec<(u64, AnthropicDraft)>,
    stop_reason: Option<String>,
    usage: AnthropicUsage,
}

/// An incomplete block.
enum AnthropicDraft {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(Value),
    ToolUse {
        id: String,
        name: String,
        input: Value,
        json: String,
    },
    /// An unknown kind that was not requested.
    Unknown,
}

impl AnthropicReply {
    /// Creates an empty reply of the model `name` to `messages`.
    pub(super) fn new(names: ToolNames, name: String, messages: &[ModelMessage]) -> Self {
        Self {
            names,
            name,
            ids: CallIds::after(messages),
            drafts: Vec::new(),
            stop_reason: None,
            usage: AnthropicUsage::default(),
        }
    }

    fn start(&mut self, index: u64, block: Value) -> Result<Option<ModelEvent>, ModelError> {
        let (draft, event) = match Start::deserialize(&block).map_err(unreadable)? {
            Start::Text { text } => (
                AnthropicDraft::Text(text.clone()),
                shown(ModelEvent::Text, text),
            ),
            Start::Thinking {
                thinking,
                signature,
            } => (
                AnthropicDraft::Thinking {
                    text: thinking.clone(),
                    signature,
                },
                shown(ModelEvent::Reasoning, thinking),
            ),
            Start::RedactedThinking => (AnthropicDraft::Redacted(block), None),
            Start::ToolUse { id, name, input } => (
                AnthropicDraft::ToolUse {
                    id,
                    name,
                    input,
                    json: String::new(),
                },
                None,
            ),
            Start::Other => (AnthropicDraft::Unknown, None),
        };
        self.drafts.push((index, draft));
        Ok(event)
    }

    fn grow(
        &mut self,
        index: u64,
        delta: AnthropicDelta,
    ) -> Result<Option<ModelEvent>, ModelError> {
        let draft = self.drafts.iter_mut().rev().find(|(at, _)| *at == index);
        let Some((_, draft)) = draft else {
            return Err(ModelError::Protocol(format!(
                "a delta for block {index}, which has not started"
            )));
        };
        match (draft, delta) {
            (AnthropicDraft::Text(text), AnthropicDelta::Text { text: more }) => {
                text.push_str(&more);
                Ok(shown(ModelEvent::Text, more))
            }
            (
                AnthropicDraft::Thinking { text, .. },
                AnthropicDelta::Thinking { thinking: more },
            ) => {
                text.push_str(&more);
                Ok(shown(ModelEvent::Reasoning, more))
            }
            (
                AnthropicDraft::Thinking { signature, .. },
                AnthropicDelta::Signature { signature: more },
            ) => {
                signature.push_str(&more);
                Ok(None)
            }
            (
                AnthropicDraft::ToolUse { json, .. },
                AnthropicDelta::InputJson { partial_json: more },
            ) => {
                json.push_str(&more);
                Ok(None)
            }
            (AnthropicDraft::Unknown, _) | (_, AnthropicDelta::Other) => Ok(None),
            _ => Err(ModelError::Protocol(format!(
                "a delta of another kind for block {index}"
            ))),
        }
    }

    fn complete(&mut self) -> AssistantMessage {
        let stop_reason = stop_reason(self.stop_reason.as_deref());
        let drafts = std::mem::take(&mut self.drafts);
        let last = drafts.len().saturating_sub(1);
        let is_cut = matches!(stop_reason, StopReason::MaxTokens | StopReason::ContextFull);
        let blocks = drafts
            .into_iter()
            .enumerate()
            .filter_map(|(position, (_, draft))| {
                self.block(draft, position, position == last, is_cut)
            });
        AssistantMessage {
            content: blocks.collect(),
            stop_reason,
            usage: self.usage.tokens(),
            model: self.name.clone(),
        }
    }

    /// Returns the complete block. Only the last block of a reply can have been cut.
    fn block(
        &mut self,
        draft: AnthropicDraft,
        position: usize,
        is_last: bool,
        is_cut: bool,
    ) -> Option<Block> {
        match draft {
            AnthropicDraft::Text(text) => (!text.is_empty()).then_some(Block::Text { text }),
            AnthropicDraft::Thinking { text, signature } => {
                let mut form = json!({ "type": "thinking", "thinking": text });
                if !signature.is_empty() {
                    form["signature"] = signature.into();
                }
                // The API rejects a thought that was cut. Other servers of this format do not sign thoughts.
                let is_whole = form.get("signature").is_some() || !is_last;
                let provider = is_whole.then_some(form);
                Some(Block::Reasoning { text, provider })
            }
            AnthropicDraft::Redacted(block) => Some(Block::Reasoning {
                text: String::new(),
                provider: Some(block),
            }),
            AnthropicDraft::ToolUse {
                id,
                name,
                input,
                json,
            } => {
                let whole = json.is_empty() && input.as_object().is_some_and(|o| !o.is_empty());
                let json = if whole { input.to_string() } else { json };
                let (input, malformed) = arguments::parse(json, is_last && is_cut);
                let tool = self.names.to_canonical(&name);
                Some(Block::ToolCall(ToolCall {
                    call_id: self.ids.unique(id, position),
                    tool,
                    input,
                    malformed,
                }))
            }
            AnthropicDraft::Unknown => None,
        }
    }
}

impl Fold for AnthropicReply {
    fn take(&mut self, data: &str, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        let event = match surrogate::parse(data).map_err(unreadable)? {
            AnthropicEvent::MessageStart { message } => {
                self.usage.update(message.usage);
                None
            }
            AnthropicEvent::ContentBlockStart {
                index,
                content_block,
            } => self.start(index, content_block)?,
            AnthropicEvent::ContentBlockDelta { index, delta } => self.grow(index, delta)?,
            AnthropicEvent::MessageDelta { delta, usage } => {
                self.stop_reason = delta.stop_reason.or(self.stop_reason.take());
                self.usage.update(usage);
                None
            }
            AnthropicEvent::MessageStop => Some(ModelEvent::Completed(self.complete())),
            AnthropicEvent::Error { error } => return Err(failure::of_event(&error)),
            AnthropicEvent::Other => None,
        };
        out.extend(event);
        Ok(())
    }

    fn end(&mut self) -> Result<AssistantMessage, ModelError> {
        Err(ModelError::BrokenStream)
    }
}

fn unreadable(error: serde_json::Error) -> ModelError {
    ModelError::Protocol(error.to_string())
}

fn stop_reason(reason: Option<&str>) -> StopReason {
    match reason {
        Some("end_turn" | "stop_sequence") => StopReason::EndTurn,
        Some("tool_use") => StopReason::ToolUse,
        Some("max_tokens") => StopReason::MaxTokens,
        Some("model_context_window_exceeded") => StopReason::ContextFull,
        Some("pause_turn") => StopReason::Paused,
        Some("refusal") => StopReason::Refusal,
        _ => StopReason::Other,
    }
}

#[cfg(test)]
mod tests;
