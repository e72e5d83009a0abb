//! The transcript of a job and of the jobs before it in its conversation: the state of the loop.

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

/// The same call so often in a row gets a nudge; once more, and the loop ends.
const REPEATS_BEFORE_NUDGE: u32 = 3;

const ASK_FOR_SUMMARY: &str = "You stopped without a word to the person who asked. Tell them in a few sentences \
                               what you did and what came of it.";

const ASK_TO_GO_ON: &str = "Go on.";

/// The state of a loop.
pub(crate) struct Transcript {
    messages: Vec<ModelMessage>,
    /// The jobs of which they are; the last is the one that runs.
    segments: Vec<JobSegment>,
    /// The summary of what is not among the messages any more.
    summary: Option<Part>,
    /// Replies before this one read more than is there now: their counts of tokens say nothing.
    measured_from: usize,
    /// Calls of the last reply that have no result yet.
    open: VecDeque<ToolCall>,
    /// Results of the last reply's calls, until all are there.
    results: Vec<Part>,
    last: Option<LastReply>,
    summaries_asked: u32,
    /// The structured result that the job must hand over.
    expected: Option<ExpectedResult>,
    repeated: Option<(ToolCall, u32)>,
    may_repeat: bool,
    /// Decisions about calls that needed an approval, by call id.
    decisions: HashMap<String, ApprovalResolved>,
    /// Notes that the model reads with the next request.
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
    /// The message that has its prompt.
    begins_at: usize,
}

struct LastReply {
    stop_reason: StopReason,
    has_text: bool,
}

impl Transcript {
    /// An empty one, which wants a job to begin.
    ///
    /// With `may_repeat` the same call again and again is no sign of a model that is stuck.
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

    /// Begins a job. What was said before stays, what was counted was the job's before.
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
            // The job before ended without a reply.
            Some(ModelMessage::User(last)) => last.extend(parts),
            _ => self.messages.push(ModelMessage::User(parts)),
        }
        self.segments.push(JobSegment {
            job,
            prompt,
            begins_at: self.messages.len() - 1,
        });
    }

    /// Makes the job hand over a structured result.
    pub(crate) fn expect(&mut self, result: ExpectedResult) {
        self.expected = Some(result);
    }

    /// The schema that the provider constrains the last message to, if it does.
    pub(crate) fn output_schema(&self) -> Option<&Value> {
        self.expected.as_ref().and_then(ExpectedResult::constraint)
    }

    /// Takes the structured result, or what is wrong with it; `None` if the job needs none.
    pub(crate) fn take_result(&mut self) -> Option<Result<Value, String>> {
        self.expected.take().map(ExpectedResult::into_result)
    }

    /// The messages that the model reads.
    pub(crate) fn messages(&self) -> &[ModelMessage] {
        &self.messages
    }

    /// The next call that wants a result.
    pub(crate) fn next_call(&self) -> Option<&ToolCall> {
        self.open.front()
    }

    /// All calls that want a result, in order.
    pub(crate) fn open_calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.open.iter()
    }

    /// The stop reason of the loop; `None` if the model must be asked (again).
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
                // Its result must be repaired.
                _ if self.expected.is_some() => {}
                _ if last.has_text || self.summaries_asked > 0 => return Some(LoopStop::EndTurn),
                _ => {}
            }
        }
        (self.progress.usage.iterations >= max_iterations).then_some(LoopStop::MaxIterations)
    }

    /// Whether the last reply asked for no tool.
    fn awaits_nothing(&self) -> bool {
        matches!(self.messages.last(), Some(ModelMessage::Assistant(_)))
    }

    /// Tells the model something when it is asked next.
    pub(crate) fn note(&mut self, text: &str) {
        self.notes.push(Part::Text(text.to_owned()));
    }

    /// Makes the transcript end with our side, so that the model can be asked.
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

    /// Takes a reply.
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

    /// Takes the result of the next call. Results are told to the model when all of a reply are there.
    pub(crate) fn add_result(&mut self, text: String, is_error: bool) {
        self.add_result_with_images(text, is_error, Vec::new());
    }

    /// Takes the result of the next call with what the model looks at.
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
        // An id may come again, and what was said is about this call alone.
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

    /// Takes what was said to a call that waited.
    pub(crate) fn add_decision(&mut self, decision: ApprovalResolved) {
        self.decisions.insert(decision.call_id.clone(), decision);
    }

    /// The decision about a call that needed an approval; `None` if none was requested.
    pub(crate) fn decision(&self, call_id: &str) -> Option<&ApprovalResolved> {
        self.decisions.get(call_id)
    }

    /// Takes the calls that have no result; the loop is over.
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
