//! The history of a job and of its conversation: transcripts that are rebuilt from logs.

mod earlier;
mod images;

use std::collections::HashMap;

use bytes::Bytes;
use shared::db::{self, Pool};
use shared::event::{
    self, ConversationCompacted, Event, EventData, EventKind, ToolCompleted, ToolOutcome,
};
use shared::id::JobId;
use shared::tool::ToolName;

use crate::transcript::Transcript;
use worker_tool::SubmitResult;

pub(crate) use earlier::load_earlier_jobs;
use images::seen;

/// The number of events per read. Each may contain a whole reply.
const PAGE: i64 = 50;
/// The event types that make up a transcript.
const TYPES: [EventKind; 11] = [
    EventKind::MessageCompleted,
    EventKind::BudgetReserved,
    EventKind::BudgetSettled,
    EventKind::ToolStarted,
    EventKind::ToolCompleted,
    EventKind::ImagesDropped,
    EventKind::ApprovalResolved,
    EventKind::JobWaiting,
    EventKind::AssetCreated,
    EventKind::WorkspaceSaved,
    EventKind::ConversationCompacted,
];

const UNKNOWN: &str = "It is not known whether this call ran: the attempt that made it ended before its result was \
                       written down. Its effects may be there, in part or not at all. Look before you do it again.";
const UNSAVED: &str = "[The work moved to another machine. What the last calls did to files may be missing here: look \
                       before you rely on it.]";

/// The events that earlier attempts wrote to the log.
#[derive(Default)]
pub(crate) struct History {
    events: Vec<EventData>,
    /// The index of the event before which a summary replaces all messages, and the summary.
    restart: Option<(usize, String)>,
    /// The images that the model still sees, by hash.
    images: HashMap<String, Bytes>,
}

impl History {
    /// Reads the events of a job's loop from its log.
    pub(crate) async fn read(pool: &Pool, job: JobId) -> anyhow::Result<Self> {
        let entries = read(pool, job).await?;
        let last = entries.iter().rev().find_map(|(_, event)| compacted(event));
        let restart = last.filter(|last| last.up_to.job == job).map(|last| {
            let covered = entries.iter().take_while(|(seq, _)| *seq <= last.up_to.seq);
            (covered.count(), last.summary.clone())
        });
        Ok(Self {
            restart,
            events: entries.into_iter().map(|(_, event)| event).collect(),
            images: HashMap::new(),
        })
    }

    /// Returns the last summary.
    fn summary(&self) -> Option<&ConversationCompacted> {
        self.events.iter().rev().find_map(compacted)
    }

    /// Returns the manifest of the workspace before the first reply, if it was saved then.
    pub(crate) fn first_manifest(&self) -> Option<&str> {
        self.events.iter().find_map(|event| match event {
            EventData::WorkspaceSaved(saved) => Some(Some(saved.manifest.as_str())),
            EventData::MessageCompleted(_) => Some(None),
            _ => None,
        })?
    }

    /// Returns the manifest of the last saved workspace.
    pub(crate) fn manifest(&self) -> Option<&str> {
        self.events.iter().rev().find_map(|event| match event {
            EventData::WorkspaceSaved(saved) => Some(saved.manifest.as_str()),
            _ => None,
        })
    }

    /// Replays the events into a new transcript. Returns the entries that the log still needs: a call that was
    /// started and has no result gets one that says so, unless the call can be repeated.
    pub(crate) fn replay(self, transcript: &mut Transcript) -> Vec<EventData> {
        let mut started = HashMap::new();
        let mut is_unsaved = false;
        for (number, event) in self.events.into_iter().enumerate() {
            if let Some((at, summary)) = &self.restart
                && number == *at
            {
                transcript.restart(summary);
            }
            match event {
                EventData::MessageCompleted(reply) => {
                    transcript.end_with_user_turn();
                    transcript.add_reply(reply);
                    is_unsaved = false;
                }
                EventData::BudgetReserved(reservation) => {
                    transcript.progress.unconfirmed_usage.reserve(reservation);
                }
                EventData::BudgetSettled(settled) => {
                    transcript.progress.add_settled(&settled.usage);
                }
                EventData::ToolStarted(call) => {
                    let decision = transcript.decision(&call.call_id);
                    // A denied call has not run, whatever happened to its worker.
                    if decision.is_none_or(|decision| decision.approved) {
                        started.insert(call.call_id, call.tool);
                    }
                }
                EventData::ToolCompleted(completed) => {
                    started.remove(&completed.call_id);
                    let images = seen(&completed.images, &self.images);
                    let is_error = completed.outcome != ToolOutcome::Ok;
                    transcript.add_result_with_images(completed.output, is_error, images);
                    is_unsaved = true;
                }
                EventData::ImagesDropped(dropped) => {
                    transcript.keep_images(dropped.kept as usize);
                }
                EventData::ApprovalResolved(decision) => transcript.add_decision(decision),
                EventData::AssetCreated(created) => {
                    transcript.progress.add_output(created);
                }
                // A job starts to wait only after its workspace is saved.
                EventData::WorkspaceSaved(_) | EventData::JobWaiting(_) => is_unsaved = false,
                EventData::ConversationCompacted(compacted) => {
                    transcript.progress.add_summary(&compacted.usage);
                    transcript.invalidate_token_counts();
                }
                _ => {}
            }
        }
        if !is_unsaved {
            // The files are in the same state as when the call was made.
            started.retain(|_, tool| !is_repeatable(tool));
        }
        if is_unsaved || !started.is_empty() {
            transcript.note(UNSAVED);
        }
        close_unknown(transcript, &started)
    }
}

/// Reads the entries of a job's log that make up a transcript, with their sequence numbers.
async fn read(pool: &Pool, job: JobId) -> anyhow::Result<Vec<(i64, EventData)>> {
    let (mut entries, mut after) = (Vec::new(), 0);
    loop {
        let page = read_page(pool, job, after).await?;
        let Some(last) = page.last() else {
            return Ok(entries);
        };
        after = last.seq;
        for event in page {
            entries.push((event.seq, event::parse(&event)?));
        }
    }
}

/// Reads one page of those entries, after the entry `after`.
async fn read_page(pool: &Pool, job: JobId, after: i64) -> db::Result<Vec<Event>> {
    db::event::list(pool, job, after, &TYPES, PAGE).await
}

fn compacted(event: &EventData) -> Option<&ConversationCompacted> {
    match event {
        EventData::ConversationCompacted(compacted) => Some(compacted),
        _ => None,
    }
}

fn is_repeatable(tool: &str) -> bool {
    tool == SubmitResult::NAME || ToolName::parse(tool).is_ok_and(ToolName::is_repeatable)
}

fn close_unknown(transcript: &mut Transcript, started: &HashMap<String, String>) -> Vec<EventData> {
    let mut entries = Vec::new();
    while let Some(call) = transcript
        .next_call()
        .filter(|call| started.contains_key(&call.call_id))
    {
        entries.push(EventData::ToolCompleted(ToolCompleted {
            usage: None,
            call_id: call.call_id.clone(),
            outcome: ToolOutcome::Unknown,
            output: UNKNOWN.to_owned(),
            exit_code: None,
            duration_ms: 0,
            truncated: false,
            images: Vec::new(),
        }));
        transcript.add_result(UNKNOWN.to_owned(), true);
    }
    entries
}

#[cfg(test)]
mod property;

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared::event::{ToolStarted, WorkspaceSaved};
    use shared::message::{AssistantMessage, Block, StopReason, Tokens, ToolCall};

    use super::*;
    use worker_model::{ModelMessage, Part};

    fn reply(calls: &[&str]) -> EventData {
        let call = |id: &&str| {
            let (call_id, tool, input) = (
                (*id).to_owned(),
                "shell.exec".to_owned(),
                json!({"command": id}),
            );
            Block::ToolCall(ToolCall {
                call_id,
                tool,
                input,
                malformed: None,
            })
        };
        let content = calls.iter().map(call).collect();
        let (stop_reason, usage) = (
            StopReason::ToolUse,
            Tokens {
                input_tokens: 10,
                ..Tokens::default()
            },
        );
        EventData::MessageCompleted(AssistantMessage {
            content,
            stop_reason,
            usage,
            model: "m".into(),
        })
    }

    fn started(call: &str) -> EventData {
        let (call_id, tool) = (call.to_owned(), "shell.exec".to_owned());
        EventData::ToolStarted(ToolStarted {
            call_id,
            tool,
            input: json!({}),
        })
    }

    fn completed(call: &str) -> EventData {
        EventData::ToolCompleted(ToolCompleted {
            usage: None,
            call_id: call.to_owned(),
            outcome: ToolOutcome::Ok,
            output: format!("{call} done"),
            exit_code: Some(0),
            duration_ms: 1,
            truncated: false,
            images: Vec::new(),
        })
    }

    fn saved() -> EventData {
        EventData::WorkspaceSaved(WorkspaceSaved {
            manifest: "m".into(),
            files: 1,
            bytes: 1,
        })
    }

    fn replay(events: Vec<EventData>) -> (Transcript, Vec<EventData>) {
        let mut transcript = Transcript::new(false);
        transcript.begin(JobId::new(), vec![Part::Text("go".to_owned())]);
        let history = History {
            events,
            restart: None,
            images: HashMap::new(),
        };
        let entries = history.replay(&mut transcript);
        transcript.end_with_user_turn();
        (transcript, entries)
    }

    /// Returns a short form of the messages after the prompt.
    fn shown(transcript: &Transcript) -> Vec<String> {
        let parts = transcript
            .messages()
            .iter()
            .flat_map(|message| match message {
                ModelMessage::Assistant(reply) => {
                    vec![format!("asks {}", reply.tool_calls().count())]
                }
                ModelMessage::User(parts) => parts
                    .iter()
                    .map(|part| match part {
                        Part::ToolResult(result) => format!(
                            "{}: {}",
                            result.call_id,
                            result.text.split('.').next().unwrap()
                        ),
                        Part::Text(text) => text.split('.').next().unwrap().to_owned(),
                        Part::Media(media) => media.name.clone(),
                    })
                    .collect(),
            });
        parts.skip(1).collect()
    }

    #[test]
    fn a_finished_turn_is_taken_over_as_it_was() {
        let events = vec![
            reply(&["a", "b"]),
            started("a"),
            completed("a"),
            started("b"),
            completed("b"),
            saved(),
        ];
        let (transcript, entries) = replay(events);
        assert_eq!(shown(&transcript), ["asks 2", "a: a done", "b: b done"]);
        assert!(entries.is_empty() && transcript.next_call().is_none());
        assert_eq!(
            (
                transcript.progress.usage.iterations,
                transcript.progress.usage.tool_calls
            ),
            (1, 2)
        );
        assert_eq!(transcript.progress.usage.tokens.input_tokens, 10);
    }

    #[test]
    fn a_call_without_a_result_is_unknown_and_one_that_was_not_started_still_runs() {
        let events = vec![
            reply(&["a", "b", "c"]),
            started("a"),
            completed("a"),
            started("b"),
        ];
        let (transcript, entries) = replay(events);
        assert_eq!(transcript.next_call().unwrap().call_id, "c");
        let [EventData::ToolCompleted(entry)] = &entries[..] else {
            panic!("{entries:?}")
        };
        assert_eq!(
            (entry.call_id.as_str(), entry.outcome),
            ("b", ToolOutcome::Unknown)
        );
    }

    #[test]
    fn a_file_is_made_an_output_again_if_it_is_as_it_was() {
        let give = |call: &str| {
            let (call_id, tool) = (call.to_owned(), "set_output".to_owned());
            let input = json!({"path": "a.png"});
            EventData::ToolStarted(ToolStarted {
                call_id,
                tool,
                input,
            })
        };
        let saved = vec![
            reply(&["a", "b"]),
            started("a"),
            completed("a"),
            give("b"),
            saved(),
        ];
        let (transcript, entries) = replay(saved);
        assert_eq!(transcript.next_call().unwrap().call_id, "b");
        assert!(entries.is_empty(), "{entries:?}");
        let unsaved = vec![reply(&["a", "b"]), started("a"), completed("a"), give("b")];
        let (transcript, entries) = replay(unsaved);
        assert!(transcript.next_call().is_none());
        assert_eq!(entries.len(), 1);
    }

    #[test]
    fn the_model_is_told_when_files_may_be_missing() {
        let events = vec![reply(&["a"]), started("a"), completed("a")];
        let (transcript, _) = replay(events);
        assert_eq!(
            shown(&transcript),
            ["asks 1", "a: a done", "[The work moved to another machine"]
        );
    }
}
