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

/// What a job reads of those before it, at most: several times what the model with the largest window reads. Of a
/// conversation in which more was said since its last summary, only the end is told.
const MAX_BYTES: usize = 16 * 1024 * 1024;
/// What a job counts for however little was said in it, so that a job reads about 1,000 others at most.
const BYTES_OF_A_JOB: usize = 16 * 1024;

const CUT: &str =
    "the beginning of this conversation is left out: too much was said since its last summary";
const GAPS: &str = "parts of this conversation are left out: another release of Skillet wrote them";
const UNREADABLE_PROMPT: &str = "[What was asked here cannot be read any more.]";

/// Fills an empty transcript with what was said before the job at that place, since the last summary.
/// `own` is what earlier attempts at the job itself have left. Returns what is missing, in words.
pub(crate) async fn load_earlier_jobs(
    pool: &Pool,
    tenant: TenantId,
    position: ConversationPosition,
    own: &History,
    transcript: &mut Transcript,
) -> anyhow::Result<Vec<&'static str>> {
    if own.restart.is_some() {
        // The summary covers it all.
        return Ok(Vec::new());
    }
    let summary = match own.summary() {
        Some(summary) => Some(summary.clone()),
        None => db::conversation::get_summary(pool, position).await?,
    };
    if let Some(summary) = &summary {
        transcript.load_summary(&summary.summary);
    }
    let Before {
        segments,
        is_cut,
        has_gaps,
    } = Before::read(pool, position, summary.as_ref(), MAX_BYTES).await?;
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
        // What its log lacks is not ours to write; the transcript makes up for it.
        history.replay(transcript);
    }
    let missing = [(is_cut, CUT), (has_gaps, GAPS)].into_iter();
    Ok(missing
        .filter_map(|(is_so, what)| is_so.then_some(what))
        .collect())
}

/// The jobs before a place, as far as they are told again, in their order.
#[derive(Default)]
struct Before {
    segments: Vec<EarlierJob>,
    /// Whether those before the first of them are left out although no summary covers them.
    is_cut: bool,
    /// Whether something in them could not be read.
    has_gaps: bool,
}

struct EarlierJob {
    job: JobId,
    prompt: String,
    inputs: Vec<Input>,
    events: Vec<EventData>,
}

impl Before {
    /// Reads from the place back to where the summary ends, a job at a time, or until it is too much.
    async fn read(
        pool: &Pool,
        mut position: ConversationPosition,
        summary: Option<&ConversationCompacted>,
        max_bytes: usize,
    ) -> db::Result<Self> {
        let first = match summary {
            // If it covers whole jobs alone, there is none to be read.
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

    /// Adds a job with what its log says after an entry, unless there is no room for it.
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

/// Ids of calls are unique within a job; a request wants them to be so in all that it shows.
fn rename(event: &mut EventData, taken: &mut HashSet<String>) {
    let EventData::MessageCompleted(reply) = event else {
        return;
    };
    for block in &mut reply.content {
        let Block::ToolCall(call) = block else {
            continue;
        };
        let wanted = call.call_id.clone();
        // There are no more than so many that are taken.
        for number in taken.len().. {
            if taken.insert(call.call_id.clone()) {
                break;
            }
            call.call_id = format!("{wanted}_{number}");
        }
    }
}

/// The names of a job's inputs, as far as they are still known.
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
