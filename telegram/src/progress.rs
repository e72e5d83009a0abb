//! The progress of a job in its status message.

use std::collections::VecDeque;

use serde_json::Value;
use skillet_client::types::event::{EventData, ToolOutcome};
use skillet_client::types::job::{Job, QueuePlace, Status};

use crate::rich_text::RichText;
use crate::split::shorten;

/// The maximum number of tool calls that are shown, which are the latest.
const SHOWN_CALLS: usize = 12;
/// The maximum number of characters of a tool call's input.
const INPUT_CHARS: usize = 80;
/// The maximum number of characters that are shown of an unfinished reply.
const DRAFT_CHARS: usize = 600;
/// The maximum number of bytes that are kept of an unfinished reply.
const DRAFT_KEPT: usize = 4 * DRAFT_CHARS;

/// The progress of a job, computed from its events.
#[derive(Debug)]
pub(crate) struct JobProgress {
    state: String,
    /// The number of interrupted attempts. An approval also ends an attempt, but interrupts nothing.
    interruptions: u32,
    calls: VecDeque<ShownCall>,
    call_count: usize,
    /// The end of the text that the model is writing.
    draft: String,
}

/// A tool call.
#[derive(Debug)]
struct ShownCall {
    id: String,
    tool: String,
    input: String,
    result: Option<(ToolOutcome, u64)>,
}

impl JobProgress {
    pub(crate) fn new(job: &Job) -> Self {
        let state = match &job.queue {
            Some(place) => format!("Queued: {}", waiting_for(place)),
            None => "Queued".to_owned(),
        };
        Self {
            state,
            interruptions: 0,
            calls: VecDeque::new(),
            call_count: 0,
            draft: String::new(),
        }
    }

    pub(crate) fn apply(&mut self, event: &EventData) {
        match event {
            EventData::JobStarted(_) => {
                self.draft.clear();
                self.state = "Running".to_owned();
            }
            EventData::JobWaiting(_) => self.state = "Waiting for approval".to_owned(),
            EventData::JobResumed(_) => self.state = "Queued again".to_owned(),
            EventData::JobRetrying(retry) => {
                self.interruptions += 1;
                self.state = format!("Interrupted: {}", retry.message);
            }
            EventData::MessageDelta(delta) => {
                self.draft.push_str(&delta.text);
                let surplus = self.draft.len().saturating_sub(DRAFT_KEPT);
                let from = (surplus..).find(|at| self.draft.is_char_boundary(*at));
                self.draft.drain(..from.unwrap_or_default());
            }
            EventData::MessageCompleted(_) => self.draft.clear(),
            EventData::ToolStarted(call) => {
                self.call_count += 1;
                self.calls.push_back(ShownCall {
                    id: call.call_id.clone(),
                    tool: call.tool.clone(),
                    input: shorten(&first_line(&input_text(&call.input)), INPUT_CHARS),
                    result: None,
                });
                if self.calls.len() > SHOWN_CALLS {
                    self.calls.pop_front();
                }
            }
            EventData::ToolCompleted(end) => {
                let call = self.calls.iter_mut().rev().find(|it| it.id == end.call_id);
                if let Some(call) = call {
                    call.result = Some((end.outcome, end.duration_ms));
                }
            }
            _ => {}
        }
    }

    /// The text of the status message while the job runs.
    pub(crate) fn text(&self) -> RichText {
        let mut text = RichText::default()
            .text("⏳ ")
            .bold(&shorten(&self.state, 300));
        if self.interruptions > 0 {
            text = text.text(&format!(", attempt {}", self.interruptions + 1));
        }
        text = self.with_calls(text);
        let draft = self.draft.trim();
        if !draft.is_empty() {
            text = text.text("\n\n").italic(&end_of_text(draft, DRAFT_CHARS));
        }
        text
    }

    /// The text of the status message after the job has ended.
    pub(crate) fn ended_text(&self, job: &Job) -> RichText {
        let (mark, word) = match job.status {
            Status::Completed => ("✅ ", "Done"),
            Status::Failed => ("❌ ", "Failed"),
            _ => ("⏹ ", "Cancelled"),
        };
        let mut text = RichText::default().text(mark).bold(word);
        if let Some(duration) = job.duration_ms {
            text = text.text(&format!(" in {}", duration_text(duration.unsigned_abs())));
        }
        let counts = [
            (self.call_count, "call"),
            (job.result.outputs.len(), "file"),
        ];
        for (count, noun) in counts.into_iter().filter(|(count, _)| *count > 0) {
            let plural = if count == 1 { "" } else { "s" };
            text = text.text(&format!(", {count} {noun}{plural}"));
        }
        self.with_calls(text)
    }

    fn with_calls(&self, mut text: RichText) -> RichText {
        let hidden = self.call_count - self.calls.len();
        if hidden > 0 {
            text = text.text(&format!("\n… {hidden} earlier calls"));
        }
        for call in &self.calls {
            text = text.text("\n⚙ ").text(&shorten(&call.tool, 40)).text(" ");
            text = text.code(&call.input);
            if let Some((outcome, duration_ms)) = call.result {
                let mark = match outcome {
                    ToolOutcome::Ok => "✓".to_owned(),
                    other => format!("✗ {}", other.as_str()),
                };
                text = text.text(&format!(" {mark} {}", duration_text(duration_ms)));
            }
        }
        text
    }
}

/// Formats the input of a tool call for people: the command, or the arguments as JSON.
pub(crate) fn input_text(input: &Value) -> String {
    match input.get("command").and_then(Value::as_str) {
        Some(command) => command.to_owned(),
        None => serde_json::to_string_pretty(input).unwrap_or_default(),
    }
}

/// Describes why a queued job does not run yet.
fn waiting_for(place: &QueuePlace) -> String {
    match place {
        QueuePlace::Position { position: 0 } => "it is next".to_owned(),
        QueuePlace::Position { position } => format!("{position} jobs go first"),
        QueuePlace::Scheduled { run_at } => format!("it starts at {run_at}"),
        QueuePlace::EarlierJob { .. } => {
            "it waits for the earlier job of this conversation".to_owned()
        }
        QueuePlace::QueuePaused => "the queue is paused".to_owned(),
        QueuePlace::SkillPaused { skill } => format!("the skill {skill} is paused"),
        QueuePlace::NoWorker => "no worker is running".to_owned(),
        QueuePlace::MissingPrograms { programs } => {
            format!("no worker has {}", programs.join(", "))
        }
        QueuePlace::NoNetwork => "no worker provides network access".to_owned(),
        QueuePlace::TenantCap { max_running } => {
            format!("{max_running} jobs of the tenant are running, which is its limit")
        }
    }
}

fn first_line(text: &str) -> String {
    let compact = text.trim().lines().map(str::trim).collect::<Vec<_>>();
    match compact.first() {
        // Several lines of JSON are one value.
        Some(&("{" | "[")) => compact.join(" "),
        Some(first) if compact.len() > 1 => format!("{first} …"),
        first => first.map_or(String::new(), |it| (*it).to_owned()),
    }
}

fn end_of_text(text: &str, limit: usize) -> String {
    let count = text.chars().count();
    if count <= limit {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count - limit + 1).collect();
    format!("…{end}")
}

fn duration_text(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0..60 => format!("{}.{} s", seconds, millis % 1000 / 100),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(status: &str) -> Job {
        let usage =
            json!({"input_tokens": 0, "output_tokens": 0, "iterations": 0, "tool_calls": 0});
        serde_json::from_value(json!({
            "id": format!("job_{}", "0".repeat(32)), "status": status, "skill": null, "agent": "default",
            "agent_version": 0, "conversation_id": null, "model": "script/bash", "attempt": 1, "retry_of": null,
            "created_at": "2026-01-01T00:00:00Z", "started_at": null, "finished_at": null, "duration_ms": 61_250,
            "text": null, "outputs": [], "stop_reason": null, "error": null, "usage": usage, "warnings": [],
            "metadata": {}, "queue": {"reason": "position", "position": 3},
        }))
        .unwrap()
    }

    fn event(kind: &str, data: Value) -> EventData {
        serde_json::from_value(json!({"type": kind, "data": data})).unwrap()
    }

    fn progress(events: impl IntoIterator<Item = EventData>) -> JobProgress {
        let mut progress = JobProgress::new(&job("queued"));
        events.into_iter().for_each(|event| progress.apply(&event));
        progress
    }

    fn started(call: usize, command: &str) -> EventData {
        let input = json!({"command": command});
        let data = json!({"call_id": call.to_string(), "tool": "shell.exec", "input": input});
        event("tool.started", data)
    }

    fn completed(call: usize, outcome: &str) -> EventData {
        let data = json!({"call_id": call.to_string(), "outcome": outcome, "output": "", "duration_ms": 1234, "truncated": false});
        event("tool.completed", data)
    }

    #[test]
    fn a_job_is_shown_from_its_place_in_the_queue_to_its_end() {
        let mut shown = progress([]);
        assert_eq!(shown.text().plain_text(), "⏳ Queued: 3 jobs go first");
        let worker = format!("wrk_{}", "0".repeat(32));
        let start = json!({"attempt": 3, "worker": worker, "skill_digest": null});
        let retry = json!({"cause": "crash", "message": "lost", "run_at": "2026-01-01T00:00:00Z"});
        shown.apply(&event("job.retrying", retry));
        shown.apply(&event("job.started", start));
        shown.apply(&started(1, "cat <a>\nsecond"));
        shown.apply(&completed(1, "ok"));
        shown.apply(&started(2, "false"));
        shown.apply(&completed(2, "error"));
        shown.apply(&event("message.delta", json!({"text": "I am wri"})));
        let text = "⏳ Running, attempt 2\n⚙ shell.exec cat <a> … ✓ 1.2 s\n⚙ shell.exec false ✗ error 1.2 s\n\nI am wri";
        assert_eq!(shown.text().plain_text(), text);
        let ended = shown.ended_text(&job("completed")).plain_text();
        assert!(
            ended.starts_with("✅ Done in 1 min 1 s, 2 calls\n⚙ shell.exec cat"),
            "{ended}"
        );
    }

    #[test]
    fn of_many_calls_and_long_texts_the_end_is_shown() {
        let many = (0..50).map(|call| started(call, &"x".repeat(500)));
        let deltas = (0..500).map(|_| event("message.delta", json!({"text": "🥖 bread "})));
        let shown = progress(many.chain(deltas));
        let text = shown.text();
        assert!(text.plain_text().contains("… 38 earlier calls"));
        assert!(text.length() < 4096, "{}", text.length());
        assert!(shown.draft.len() <= DRAFT_KEPT);
    }

    #[test]
    fn arguments_that_are_no_command_are_json() {
        let data = json!({"call_id": "1", "tool": "set_output", "input": {"path": "a.png"}});
        let shown = progress([event("tool.started", data)]);
        assert!(
            shown
                .text()
                .plain_text()
                .ends_with("⚙ set_output { \"path\": \"a.png\" }")
        );
    }
}
