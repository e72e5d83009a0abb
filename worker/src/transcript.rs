//! The transcript of a job and of earlier jobs in its conversation: the state of the loop.

mod cut;
mod images;
mod measured;
mod render;

use std::collections::{HashMap, VecDeque};

use serde_json::Value;
use shared::event::{ApprovalResolved, Progress, ToolCompleted};
use shared::id::JobId;
use shared::job::LoopStop;
use shared::message::{AssistantMessage, StopReason, ToolCall};

use crate::expected_result::ExpectedResult;
pub(crate) use cut::Cut;
pub(crate) use measured::Measured;
pub(crate) use render::render_as_text;
use worker_model::{Media, ModelMessage, Part, ToolResult};
use worker_tool::SubmitResult;

/// The number of equal calls in a row at which the model gets a nudge. One more ends the loop.
const REPEATS_BEFORE_NUDGE: u32 = 3;

const ASK_FOR_SUMMARY: &str = "You stopped without a word to the person who asked. Tell them in a few sentences \
                               what you did and what came of it.";

const ASK_TO_GO_ON: &str = "Go on.";

/// The state of a loop.
pub(crate) struct Transcript {
    messages: Vec<ModelMessage>,
    /// The jobs of the messages. The last one is the running job.
    segments: Vec<JobSegment>,
    /// The summary of removed messages, until a prompt follows it.
    summary: Option<Part>,
    /// The index of the first message with a valid token count. Earlier replies counted
    /// messages that have been removed.
    measured_from: usize,
    /// Calls of the last reply that have no result yet.
    open: VecDeque<ToolCall>,
    /// Results of the last reply's calls, until all calls have one.
    results: Vec<Part>,
    last: Option<LastReply>,
    summaries_asked: u32,
    /// The structured result that the job must return.
    expected: Option<ExpectedResult>,
    repeated: Option<(ToolCall, u32)>,
    may_repeat: bool,
    /// Decisions about calls that needed approval, by call id.
    decisions: HashMap<String, ApprovalResolved>,
    /// Notes for the model in the next request.
    notes: Vec<Part>,
    /// The progress of the job.
    pub(crate) progress: Progress,
    /// Whether images of results are in the job's store.
    pub(crate) has_kept_images: bool,
}

/// A job in the transcript.
struct JobSegment {
    job: JobId,
    prompt: Vec<Part>,
    /// The index of the message with the job's prompt.
    begins_at: usize,
}

struct LastReply {
    stop_reason: StopReason,
    has_text: bool,
}

impl Transcript {
    /// Creates an empty transcript. A job must begin before the model can be called.
    ///
    /// With `may_repeat`, repeated equal calls do not count as a sign of a stuck model.
    pub(crate) fn new(may_repeat: bool) -> Self {
        Self {
            messages: Vec::new(),
            segments: Vec::new(),
            summary: None,
            measured_from: 0,
            open: VecDeque::new(),
            results: Vec::new(),
            last: None,
            summaries_asked: 0,
            expected: None,
            repeated: None,
            may_repeat,
            decisions: HashMap::new(),
            notes: Vec::new(),
            progress: Progress::default(),
            has_kept_images: false,
        }
    }

    /// Begins a job. The messages of earlier jobs stay, but the progress starts anew.
    pub(crate) fn begin(&mut self, job: JobId, prompt: Vec<Part>) {
        while self.next_call().is_some() {
            self.add_result(ToolCompleted::UNANSWERED.to_owned(), true);
        }
        let before = std::mem::replace(self, Self::new(self.may_repeat));
        self.messages = before.messages;
        self.segments = before.segments;
        self.measured_from = before.measured_from;
        let parts: Vec<_> = before.summary.into_iter().chain(prompt.clone()).collect();
        match self.messages.last_mut() {
            // The previous job ended without a reply.
            Some(ModelMessage::User(last)) => last.extend(parts),
            _ => self.messages.push(ModelMessage::User(parts)),
        }
        self.segments.push(JobSegment {
            job,
            prompt,
            begins_at: self.messages.len() - 1,
        });
    }

    /// Makes the job return a structured result.
    pub(crate) fn expect(&mut self, result: ExpectedResult) {
        self.expected = Some(result);
    }

    /// Returns the schema to which the provider constrains the last message, if any.
    pub(crate) fn output_schema(&self) -> Option<&Value> {
        self.expected.as_ref().and_then(ExpectedResult::constraint)
    }

    /// Takes the structured result or a description of its faults. Returns `None` if the job needs none.
    pub(crate) fn take_result(&mut self) -> Option<Result<Value, String>> {
        self.expected.take().map(ExpectedResult::into_result)
    }

    /// Returns the messages that the model reads.
    pub(crate) fn messages(&self) -> &[ModelMessage] {
        &self.messages
    }

    /// Returns the next call without a result.
    pub(crate) fn next_call(&self) -> Option<&ToolCall> {
        self.open.front()
    }

    /// Returns all calls without a result, in order.
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.open.iter()
    }

    /// Returns the stop reason of the loop, or `None` if the model must be called (again).
    pub(crate) fn stop(&self, max_iterations: u32) -> Option<LoopStop> {
        if self
            .expected
            .as_ref()
            .is_some_and(ExpectedResult::is_settled)
        {
            return Some(LoopStop::EndTurn);
        }
        if let Some(last) = self.last.as_ref().filter(|_| self.awaits_nothing()) {
            match last.stop_reason {
                StopReason::Refusal => return Some(LoopStop::Refusal),
                StopReason::MaxTokens => return Some(LoopStop::MaxTokens),
                StopReason::ContextFull => return Some(LoopStop::ContextFull),
                StopReason::Paused => {}
                // The structured result must be repaired.
                _ if self.expected.is_some() => {}
                _ if last.has_text || self.summaries_asked > 0 => return Some(LoopStop::EndTurn),
                _ => {}
            }
        }
        (self.progress.usage.iterations >= max_iterations).then_some(LoopStop::MaxIterations)
    }

    /// Whether the last reply has no tool calls.
    fn awaits_nothing(&self) -> bool {
        matches!(self.messages.last(), Some(ModelMessage::Assistant(_)))
    }

    /// Adds a note for the model to the next request.
    pub(crate) fn note(&mut self, text: &str) {
        self.notes.push(Part::Text(text.to_owned()));
    }

    /// Makes the transcript end with a user message, so that the model can be called.
    pub(crate) fn end_with_user_turn(&mut self) {
        if let Some(last) = self.last.as_ref().filter(|_| self.awaits_nothing()) {
            let text = if last.stop_reason == StopReason::Paused {
                ASK_TO_GO_ON.to_owned()
            } else if let Some(expected) = &self.expected {
                expected.repair_request()
            } else {
                self.summaries_asked += 1;
                ASK_FOR_SUMMARY.to_owned()
            };
            self.messages
                .push(ModelMessage::User(vec![Part::Text(text)]));
        }
        if let Some(ModelMessage::User(parts)) = self.messages.last_mut() {
            parts.append(&mut self.notes);
        }
    }

    /// Adds a reply.
    pub(crate) fn add_reply(&mut self, reply: AssistantMessage) {
        self.progress.add_reply(&reply);
        self.open = reply.tool_calls().cloned().collect();
        if let Some(expected) = &mut self.expected
            && reply.stop_reason == StopReason::EndTurn
            && self.open.is_empty()
        {
            expected.take_message(&reply.text());
        }
        self.last = Some(LastReply {
            stop_reason: reply.stop_reason,
            has_text: !reply.text().trim().is_empty(),
        });
        self.messages.push(ModelMessage::Assistant(reply));
    }

    /// Adds the result of the next call. The model gets the results when all calls of the reply have one.
    pub(crate) fn add_result(&mut self, text: String, is_error: bool) {
        self.add_result_with_images(text, is_error, Vec::new());
    }

    /// Adds the result of the next call, with images for the model.
    pub(crate) fn add_result_with_images(
        &mut self,
        text: String,
        is_error: bool,
        images: Vec<Media>,
    ) {
        let Some(call) = self.open.pop_front() else {
            return;
        };
        self.progress.usage.tool_calls += 1;
        self.has_kept_images |= !images.is_empty();
        if let Some(expected) = &mut self.expected
            && call.tool == SubmitResult::NAME
        {
            expected.take_call(&call.input);
        }
        // A later call may have the same id, and the decision applies to this call only.
        self.decisions.remove(&call.call_id);
        let text = if self.count_repeats(&call) == REPEATS_BEFORE_NUDGE {
            format!(
                "{text}\n\n[This is the same call with the same input {REPEATS_BEFORE_NUDGE} times in a row. Its \
                 result will not change: try something else, or finish.]"
            )
        } else {
            text
        };
        self.results.push(Part::ToolResult(ToolResult {
            call_id: call.call_id,
            text,
            is_error,
            images,
        }));
        if self.open.is_empty() {
            self.messages
                .push(ModelMessage::User(std::mem::take(&mut self.results)));
        }
    }

    /// Adds the decision about a call that waited for approval.
    pub(crate) fn add_decision(&mut self, decision: ApprovalResolved) {
        self.decisions.insert(decision.call_id.clone(), decision);
    }

    /// Returns the decision about a call that needed approval, or `None` if none was requested.
    pub(crate) fn decision(&self, call_id: &str) -> Option<&ApprovalResolved> {
        self.decisions.get(call_id)
    }

    /// Takes the calls without a result, when the loop is over.
    pub(crate) fn give_up(&mut self) -> impl Iterator<Item = ToolCall> {
        std::mem::take(&mut self.open).into_iter()
    }

    /// Whether the next call would be one repetition too many.
    pub(crate) fn is_stuck(&self) -> bool {
        let Some((last, count)) = &self.repeated else {
            return false;
        };
        *count >= REPEATS_BEFORE_NUDGE && self.open.front().is_some_and(|call| is_same(call, last))
    }

    fn count_repeats(&mut self, call: &ToolCall) -> u32 {
        let count = match &self.repeated {
            Some((last, count)) if is_same(last, call) && !self.may_repeat => count + 1,
            _ => 1,
        };
        self.repeated = Some((call.clone(), count));
        count
    }
}

fn is_same(one: &ToolCall, other: &ToolCall) -> bool {
    one.tool == other.tool && one.input == other.input
}
