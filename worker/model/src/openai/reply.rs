//! Replies of Chat Completions, folded from their chunks.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::{Map, Value};
use shared::message::{AssistantMessage, Block, StopReason, Tokens, ToolCall};

use super::call::Calls;
use super::chunk::{CallDelta, Chunk, Content, ContentPart, Delta};
use super::thought::Thought;
use crate::call_id::CallIds;
use crate::name::ToolNames;
use crate::reply::Fold;
use crate::{ModelError, ModelEvent, ModelMessage, failure, surrogate};

/// An incomplete reply.
pub(super) struct ChatReply {
    names: ToolNames,
    name: String,
    ids: CallIds,
    /// In the order of arrival.
    drafts: Vec<OpenAiDraft>,
    calls: Calls,
    thought: Thought,
    refused: bool,
    finish_reason: Option<String>,
    usage: Tokens,
}

/// An incomplete block.
enum OpenAiDraft {
    Text(String),
    Reasoning(String),
    /// The next of the calls.
    Call,
}

impl ChatReply {
    /// Creates an empty reply of the model `name` to `messages`.
    pub(super) fn new(names: ToolNames, name: String, messages: &[ModelMessage]) -> Self {
        Self {
            names,
            name,
            ids: CallIds::after(messages),
            drafts: Vec::new(),
            calls: Calls::default(),
            thought: Thought::default(),
            refused: false,
            finish_reason: None,
            usage: Tokens::default(),
        }
    }

    fn grow(&mut self, delta: Delta, out: &mut VecDeque<ModelEvent>) {
        // Servers in transition send the same thought in both fields.
        let thoughts = [
            ("reasoning_content", delta.reasoning_content),
            ("reasoning", delta.reasoning),
        ];
        let thought = thoughts
            .into_iter()
            .find_map(|(field, text)| Some((field, text?)));
        if let Some((field, text)) = thought {
            self.thought.field = Some(field);
            self.reason(text, out);
        }
        self.thought
            .take_details(delta.reasoning_details.unwrap_or_default());
        match delta.content {
            Some(Content::Text(text)) => self.speak(text, out),
            Some(Content::Parts(parts)) => self.speak_in_parts(parts, out),
            None => {}
        }
        if let Some(refusal) = delta.refusal.filter(|text| !text.is_empty()) {
            self.refused = true;
            self.speak(refusal, out);
        }
        for call in delta.tool_calls.unwrap_or_default() {
            self.call(call);
        }
        if let Some(function) = delta.function_call {
            self.call(CallDelta {
                index: Some(0),
                function: Some(function),
                ..CallDelta::default()
            });
        }
    }

    fn speak_in_parts(&mut self, parts: Vec<ContentPart>, out: &mut VecDeque<ModelEvent>) {
        for part in parts {
            for thought in part.thinking.into_iter().flatten() {
                self.reason(thought.text.unwrap_or_default(), out);
            }
            self.speak(part.text.unwrap_or_default(), out);
        }
    }

    fn speak(&mut self, more: String, out: &mut VecDeque<ModelEvent>) {
        if more.is_empty() {
            return;
        }
        match self.drafts.last_mut() {
            Some(OpenAiDraft::Text(text)) => text.push_str(&more),
            _ => self.drafts.push(OpenAiDraft::Text(more.clone())),
        }
        out.push_back(ModelEvent::Text(more));
    }

    fn reason(&mut self, more: String, out: &mut VecDeque<ModelEvent>) {
        if more.is_empty() {
            return;
        }
        match self.drafts.last_mut() {
            Some(OpenAiDraft::Reasoning(text)) => text.push_str(&more),
            _ => self.drafts.push(OpenAiDraft::Reasoning(more.clone())),
        }
        out.push_back(ModelEvent::Reasoning(more));
    }

    fn call(&mut self, delta: CallDelta) {
        let before = self.calls.len();
        self.calls.take(delta);
        if self.calls.len() > before {
            self.drafts.push(OpenAiDraft::Call);
        }
    }

    fn complete(&mut self) -> AssistantMessage {
        let stop_reason = self.stop_reason();
        let cut = stop_reason == StopReason::MaxTokens;
        let calls = std::mem::take(&mut self.calls).finish(&self.names, &mut self.ids, cut);
        AssistantMessage {
            content: self.blocks(calls),
            stop_reason,
            usage: self.usage,
            model: self.name.clone(),
        }
    }

    /// Returns the blocks. The first thought contains everything that the server requires back.
    fn blocks(&mut self, calls: Vec<(ToolCall, Option<Value>)>) -> Vec<Block> {
        let drafts = std::mem::take(&mut self.drafts);
        let thoughts = drafts.iter().filter_map(|draft| match draft {
            OpenAiDraft::Reasoning(text) => Some(text.as_str()),
            _ => None,
        });
        let extras = calls
            .iter()
            .filter_map(|(call, extra)| Some((call.call_id.clone(), extra.clone()?)));
        let extras = Map::from_iter(extras);
        let text: String = thoughts.collect();
        let mut provider = std::mem::take(&mut self.thought).finish(&text, extras);
        let mut blocks = Vec::new();
        if text.is_empty() && provider.is_some() {
            blocks.push(Block::Reasoning {
                text,
                provider: provider.take(),
            });
        }
        let mut calls = calls.into_iter();
        blocks.extend(drafts.into_iter().filter_map(|draft| match draft {
            OpenAiDraft::Text(text) => Some(Block::Text { text }),
            OpenAiDraft::Reasoning(text) => Some(Block::Reasoning {
                text,
                provider: provider.take(),
            }),
            OpenAiDraft::Call => calls.next().map(|(call, _)| Block::ToolCall(call)),
        }));
        blocks
    }

    fn stop_reason(&self) -> StopReason {
        match self.finish_reason.as_deref() {
            _ if self.refused => StopReason::Refusal,
            Some("content_filter") => StopReason::Refusal,
            Some("length" | "max_tokens") => StopReason::MaxTokens,
            Some("tool_calls" | "function_call") => StopReason::ToolUse,
            // With calls, some servers send `stop` or nothing.
            Some("stop") | None if self.calls.len() > 0 => StopReason::ToolUse,
            Some("stop") | None => StopReason::EndTurn,
            Some(_) => StopReason::Other,
        }
    }
}

impl Fold for ChatReply {
    fn take(&mut self, data: &str, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError> {
        if data.trim() == "[DONE]" {
            if self.finish_reason.is_none() && self.drafts.is_empty() {
                return Err(ModelError::BrokenStream);
            }
            out.push_back(ModelEvent::Completed(self.complete()));
            return Ok(());
        }
        let chunk: Value = surrogate::parse(data).map_err(unreadable)?;
        if let Some(error) = error_in(&chunk) {
            return Err(failure::of_event(error));
        }
        let chunk = Chunk::deserialize(&chunk).map_err(unreadable)?;
        if let Some(usage) = chunk.usage {
            self.usage = usage.tokens();
        }
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            if let Some(delta) = choice.delta.or(choice.message) {
                self.grow(delta, out);
            }
            let reason = choice.finish_reason.filter(|reason| !reason.is_empty());
            self.finish_reason = reason.or(self.finish_reason.take());
        }
        Ok(())
    }

    /// `[DONE]` and the usage may be missing, but the finish reason may not.
    fn end(&mut self) -> Result<AssistantMessage, ModelError> {
        if self.finish_reason.is_some() {
            Ok(self.complete())
        } else {
            Err(ModelError::BrokenStream)
        }
    }
}

/// Returns the error that a chunk contains. With older vLLM, the chunk itself is the error.
fn error_in(chunk: &Value) -> Option<&Value> {
    let whole = (chunk["object"] == "error").then_some(chunk);
    chunk
        .get("error")
        .filter(|error| !error.is_null())
        .or(whole)
}

fn unreadable(error: serde_json::Error) -> ModelError {
    ModelError::Protocol(error.to_string())
}

#[cfg(test)]
mod tests;
