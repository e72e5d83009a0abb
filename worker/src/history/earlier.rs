//! Earlier jobs of a conversation, read from their logs.

use std::collections::{HashMap, HashSet};

use shared::conversation::ConversationPosition;
use shared::db::conversation::Earlier;
use shared::db::{self, Pool};
use shared::event::{self, ConversationCompacted, EventData};
use shared::id::{JobId, TenantId};
use shared::job::Input;
use shared::message::Block;
use shared::stored::UnreadableRow;

use super::{History, read_page};
use crate::prompt;
use crate::transcript::Transcript;

/// The maximum number of bytes that a job reads of earlier jobs: several times the largest context window. If more
/// was said since the last summary, only the end is loaded.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// The minimum size that counts for each earlier job, so that a job reads about 1,000 earlier jobs at most.
const BYTES_OF_A_JOB: usize = 16 * 1024;

const CUT: &str =
    "the beginning of this conversation is left out: it is too long since its last summary";
const GAPS: &str = "parts of this conversation are left out: another release of Skillet wrote them";
const UNREADABLE_PROMPT: &str = "[This request can no longer be read.]";

/// Fills an empty transcript with the conversation before `position`, since the last summary. `own` contains what
/// earlier attempts at the job left. Returns descriptions of the missing parts.
pub(crate) async fn load_earlier_jobs(
    pool: &Pool,
    tenant: TenantId,
    position: ConversationPosition,
    own: &History,
    transcript: &mut Transcript,
) -> anyhow::Result<Vec<&'static str>> {
    if own.restart.is_some() {
        // The summary covers all earlier jobs.
        return Ok(Vec::new());
    }
    let summary = match own.summary() {
        Some(summary) => Some(summary.clone()),
        None => db::conversation::get_summary(pool, position).await?,
    };
    if let Some(summary) = &summary {
        transcript.load_summary(&summary.summary);
    }
    let EarlierJobs {
        segments,
        is_cut,
        has_gaps,
    } = EarlierJobs::read(pool, position, summary.as_ref(), MAX_BYTES).await?;
    let mut taken = HashSet::new();
    for mut segment in segments {
        let events = segment.events.iter_mut();
        events.for_each(|event| rename(event, &mut taken));
        let names = names(pool, tenant, &segment.inputs).await?;
        let prompt = prompt::earlier_message(&segment.prompt, &names);
        transcript.begin(segment.job, prompt);
        let history = History {
            events: segment.events,
            restart: None,
            images: HashMap::new(),
        };
        // The entries that this returns belong to the log of another job, so they are not written.
        history.replay(transcript);
    }
    let missing = [(is_cut, CUT), (has_gaps, GAPS)].into_iter();
    Ok(missing
        .filter_map(|(is_so, what)| is_so.then_some(what))
        .collect())
}

/// The earlier jobs that are loaded, in order.
#[derive(Default)]
struct EarlierJobs {
    segments: Vec<EarlierJob>,
    /// Whether jobs before the first segment are left out although no summary covers them.
    is_cut: bool,
    /// Whether parts of the jobs could not be read.
    has_gaps: bool,
}

struct EarlierJob {
    job: JobId,
    prompt: String,
    inputs: Vec<Input>,
    events: Vec<EventData>,
}

impl EarlierJobs {
    /// Reads backwards from the position to the end of the summary, one job at a time, or until the limit is reached.
    async fn read(
        pool: &Pool,
        mut position: ConversationPosition,
        summary: Option<&ConversationCompacted>,
        max_bytes: usize,
    ) -> db::Result<Self> {
        let first = match summary {
            // If all jobs since the end of the summary were deleted, there is nothing to read.
            Some(summary) => {
                let end = summary.up_to.job;
                let place =
                    db::conversation::get_first_place(pool, position.conversation, end).await?;
                place.unwrap_or(position.position)
            }
            None => 0,
        };
        let mut before = Self::default();
        let mut room = max_bytes;
        while let Some(earlier) = db::conversation::get_before(pool, position, first).await? {
            position.position = earlier.place;
            let after = summary
                .map(|summary| summary.up_to)
                .filter(|end| end.job == earlier.job)
                .map_or(0, |end| end.seq);
            if !before.add(pool, earlier, after, &mut room).await? {
                before.is_cut = true;
                break;
            }
        }
        before.segments.reverse();
        Ok(before)
    }

    /// Adds a job with the entries of its log after the entry `after`, unless there is no room for it.
    async fn add(
        &mut self,
        pool: &Pool,
        earlier: Earlier,
        mut after: i64,
        room: &mut usize,
    ) -> db::Result<bool> {
        let (prompt, inputs) = match earlier.asked {
            Ok(asked) => (asked.prompt, asked.inputs),
            Err(error) => {
                self.note_gap(earlier.job, &error);
                (UNREADABLE_PROMPT.to_owned(), Vec::new())
            }
        };
        let mut bytes = BYTES_OF_A_JOB + prompt.len();
        let mut events = Vec::new();
        while bytes <= *room {
            let page = read_page(pool, earlier.job, after).await?;
            let Some(last) = page.last() else {
                *room -= bytes;
                self.segments.push(EarlierJob {
                    job: earlier.job,
                    prompt,
                    inputs,
                    events,
                });
                return Ok(true);
            };
            after = last.seq;
            for event in page {
                bytes += event.data.get().len();
                match event::parse(&event) {
                    Ok(event) => events.push(event),
                    Err(error) => self.note_gap(earlier.job, &error),
                }
            }
        }
        Ok(false)
    }

    fn note_gap(&mut self, job: JobId, error: &UnreadableRow) {
        self.has_gaps = true;
        let error = error as &dyn std::error::Error;
        tracing::warn!(%job, error, "a part of a conversation is left out");
    }
}

/// Renames tool calls whose id is taken. Ids are unique within a job, but must be unique within a whole request.
fn rename(event: &mut EventData, taken: &mut HashSet<String>) {
    let EventData::MessageCompleted(reply) = event else {
        return;
    };
    for block in &mut reply.content {
        let Block::ToolCall(call) = block else {
            continue;
        };
        let wanted = call.call_id.clone();
        // At most `taken.len()` of these ids can be taken, so the loop ends.
        for number in taken.len().. {
            if taken.insert(call.call_id.clone()) {
                break;
            }
            call.call_id = format!("{wanted}_{number}");
        }
    }
}

/// Returns the names of those inputs of a job that still exist.
async fn names(pool: &Pool, tenant: TenantId, inputs: &[Input]) -> db::Result<Vec<String>> {
    let ids = inputs.iter().filter_map(|input| match input {
        Input::Asset { id } => Some(*id),
        Input::Url { .. } => None,
    });
    let ids: Vec<_> = ids.collect();
    let assets = match ids.as_slice() {
        [] => Vec::new(),
        ids => db::asset::list(pool, tenant, ids).await?,
    };
    let name = |input: &Input| match input {
        Input::Asset { id } => {
            let asset = assets.iter().find(|asset| asset.id == *id);
            asset.map(|asset| asset.name.clone())
        }
        Input::Url { url, name } => Some(name.as_ref().unwrap_or(url).clone()),
    };
    Ok(inputs.iter().filter_map(name).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use shared::message::{AssistantMessage, StopReason, Tokens, ToolCall};

    use super::*;

    #[test]
    fn no_two_calls_of_all_that_is_shown_have_the_same_id() {
        let reply = || {
            let call = |id: &str| {
                Block::ToolCall(ToolCall {
                    call_id: id.to_owned(),
                    tool: "shell.exec".to_owned(),
                    input: json!({}),
                    malformed: None,
                })
            };
            EventData::MessageCompleted(AssistantMessage {
                content: vec![call("call_1"), call("call_2")],
                stop_reason: StopReason::ToolUse,
                usage: Tokens::default(),
                model: "script/bash".to_owned(),
            })
        };
        let mut events = [reply(), reply(), reply()];
        let mut taken = HashSet::new();
        events
            .iter_mut()
            .for_each(|event| rename(event, &mut taken));
        let json: Vec<Value> = events
            .iter()
            .map(|event| serde_json::to_value(event).unwrap())
            .collect();
        let ids: HashSet<_> = json
            .iter()
            .flat_map(|event| event["data"]["content"].as_array().unwrap())
            .map(|block| block["call_id"].as_str().unwrap())
            .collect();
        assert_eq!(ids.len(), 6, "{ids:?}");
        assert!(ids.contains("call_1") && ids.contains("call_2"));
    }
}
