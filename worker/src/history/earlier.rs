//! What was said in the jobs of a conversation before this one.

use std::collections::HashSet;

use shared::conversation::Seat;
use shared::db::conversation::Asked;
use shared::db::{self, Pool};
use shared::event::{ConversationCompacted, EventData};
use shared::id::{JobId, TenantId};
use shared::job::Input;
use shared::message::Block;

use super::{History, read};
use crate::prompt;
use crate::transcript::Transcript;

/// Fills an empty transcript with what was said before the job at that place, since the last summary.
/// `own` is what earlier attempts at the job itself have left.
pub(crate) async fn recall(
    pool: &Pool,
    tenant: TenantId,
    seat: Seat,
    own: &History,
    transcript: &mut Transcript,
) -> anyhow::Result<()> {
    if own.restart.is_some() {
        // The summary covers it all.
        return Ok(());
    }
    let summary = match own.summary() {
        Some(summary) => Some(summary.clone()),
        None => db::conversation::get_summary(pool, seat).await?,
    };
    let jobs = db::conversation::list_before(pool, seat).await?;
    let jobs = match &summary {
        Some(summary) => since(jobs, summary),
        None => jobs,
    };
    if let Some(summary) = &summary {
        transcript.recall(&summary.summary);
    }
    let mut taken = HashSet::new();
    for asked in jobs {
        let after = summary
            .as_ref()
            .filter(|summary| summary.up_to.job == asked.job)
            .map_or(0, |summary| summary.up_to.seq);
        let entries = read(pool, asked.job, after).await?;
        let mut events: Vec<_> = entries.into_iter().map(|(_, event)| event).collect();
        events
            .iter_mut()
            .for_each(|event| rename(event, &mut taken));
        let names = names(pool, tenant, &asked.request.inputs).await?;
        let prompt = prompt::earlier_message(&asked.request.prompt, &names);
        transcript.begin(asked.job, prompt);
        let history = History {
            events,
            restart: None,
        };
        // What its log lacks is not ours to write; the transcript makes up for it.
        history.replay(transcript);
    }
    Ok(())
}

/// The jobs that a summary does not cover whole. If the job that it ends in was deleted, they are those
/// that are younger.
fn since(jobs: Vec<Asked>, summary: &ConversationCompacted) -> Vec<Asked> {
    let end: JobId = summary.up_to.job;
    let is_there = jobs.iter().any(|asked| asked.job == end);
    let is_covered = |asked: &Asked| match is_there {
        true => asked.job != end,
        false => asked.job < end,
    };
    jobs.into_iter().skip_while(is_covered).collect()
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

/// What the inputs of a job were called, as far as they are still known.
async fn names(pool: &Pool, tenant: TenantId, inputs: &[Input]) -> sqlx::Result<Vec<String>> {
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
    use serde_json::{Map, Value, json};
    use shared::event::LogPlace;
    use shared::job::{JobRequest, Limits, Priority};
    use shared::message::{AssistantMessage, StopReason, Tokens, ToolCall};

    use super::*;

    fn asked(job: JobId) -> Asked {
        let request = JobRequest {
            hooks: shared::hook::Hooks::default(),
            prompt: String::new(),
            inputs: Vec::new(),
            parameters: Map::new(),
            limits: Limits::DEFAULT,
            max_attempts: 1,
            priority: Priority(0),
            agent: None,
            origin: None,
        };
        Asked { job, request }
    }

    #[test]
    fn a_summary_leaves_the_job_that_it_ends_in_and_those_after_it() {
        let ids: Vec<_> = (0..4).map(|_| JobId::new()).collect();
        let left = |up_to: JobId, there: &[usize]| {
            let summary = ConversationCompacted {
                summary: String::new(),
                up_to: LogPlace { job: up_to, seq: 5 },
                usage: Tokens::default(),
            };
            let jobs = there.iter().map(|at| asked(ids[*at])).collect();
            let left = since(jobs, &summary).into_iter();
            left.map(|asked| ids.iter().position(|id| *id == asked.job).unwrap())
                .collect::<Vec<_>>()
        };
        assert_eq!(left(ids[1], &[0, 1, 2, 3]), [1, 2, 3]);
        // Place counts, and not the clock of whoever made the id.
        assert_eq!(left(ids[1], &[3, 1, 0]), [1, 0]);
        assert_eq!(left(ids[1], &[0, 2, 3]), [2, 3]);
    }

    #[test]
    fn no_two_calls_of_all_that_is_shown_have_the_same_id() {
        let reply = || {
            let call = |id: &str| {
                Block::ToolCall(ToolCall {
                    call_id: id.to_owned(),
                    tool: "execute_bash".to_owned(),
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
