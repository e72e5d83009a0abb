//! Rules about the log alone.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use shared::event::is_terminal;
use shared::tool::ToolName;

use crate::chaos::history::JobHistory;

pub(super) fn it_is_dense_from_one(job: &JobHistory, faults: &mut Vec<String>) {
    for (place, event) in (1_i64..).zip(&job.events) {
        if event["seq"] != place {
            faults.push(format!("event {place} has the number {}", event["seq"]));
            return;
        }
    }
}

pub(super) fn one_event_ends_it_and_none_follows(job: &JobHistory, faults: &mut Vec<String>) {
    let ends = |event: &Value| event["type"].as_str().is_some_and(is_terminal);
    match job.events.iter().filter(|event| ends(event)).count() {
        1 if job.events.last().is_some_and(ends) => {}
        1 => faults.push("there are events after the one that ends the log".to_owned()),
        count => faults.push(format!("{count} events end the log")),
    }
}

pub(super) fn attempts_never_go_back(job: &JobHistory, faults: &mut Vec<String>) {
    for pair in job.events.windows(2) {
        let (before, after) = (JobHistory::attempt(&pair[0]), JobHistory::attempt(&pair[1]));
        if after < before {
            let seq = &pair[1]["seq"];
            faults.push(format!(
                "event {seq} is of attempt {after}, after one of attempt {before}"
            ));
        }
    }
}

/// After the end of an attempt, no event has its number until the next attempt starts.
pub(super) fn a_lease_that_ended_writes_nothing(job: &JobHistory, faults: &mut Vec<String>) {
    let mut ended = None;
    for event in &job.events {
        let attempt = JobHistory::attempt(event);
        let kind = event["type"].as_str().unwrap_or_default();
        // These events can be written while no worker has the job: by approvals, and by the queue when it ends a job.
        let is_worker = !matches!(kind, "approval.resolved" | "job.resumed" | "tool.completed")
            && !is_terminal(kind);
        if ended == Some(attempt) && is_worker {
            let seq = &event["seq"];
            faults.push(format!(
                "event {seq} ({kind}) is of attempt {attempt}, which had ended"
            ));
        }
        if matches!(kind, "job.retrying" | "job.waiting") {
            ended = Some(attempt);
        }
    }
}

pub(super) fn every_call_has_one_result(job: &JobHistory, faults: &mut Vec<String>) {
    let mut open = HashSet::new();
    let mut results: HashMap<&str, usize> = HashMap::new();
    for event in &job.events {
        let data = &event["data"];
        let id = data["call_id"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "message.completed" => {
                let blocks = data["content"].as_array().into_iter().flatten();
                open.extend(blocks.filter_map(|block| block["call_id"].as_str()));
            }
            "tool.started" if !open.contains(id) => {
                faults.push(format!("the call {id} was started, and no reply made it"));
            }
            "tool.started" if results.contains_key(id) => {
                faults.push(format!("the call {id} was started after its result"));
            }
            "tool.completed" => *results.entry(id).or_default() += 1,
            _ => {}
        }
    }
    for id in &open {
        let count = results.remove(id).unwrap_or_default();
        if count != 1 {
            faults.push(format!("the call {id} has {count} results"));
        }
    }
    let unknown = results.keys();
    faults.extend(unknown.map(|id| format!("the result of {id} is of a call that nobody made")));
    // A denied call gets a start event from each attempt that reaches it, but never runs.
    let denied = job.of_type("tool.completed");
    let denied = denied.filter(|event| event["data"]["outcome"] == "denied");
    let denied: HashSet<_> = denied.map(|event| &event["data"]["call_id"]).collect();
    let started = job.of_type("tool.started");
    let started = started.filter(|event| !denied.contains(&event["data"]["call_id"]));
    // A call that declares an output runs again if its result was not recorded.
    let started = started.filter(|event| {
        let tool = event["data"]["tool"].as_str().unwrap_or_default();
        tool != ToolName::SetOutput.as_str()
    });
    let mut starts: HashMap<&str, usize> = HashMap::new();
    started.for_each(|event| {
        *starts
            .entry(event["data"]["call_id"].as_str().unwrap_or_default())
            .or_default() += 1;
    });
    let twice = starts.into_iter().filter(|(_, count)| *count > 1);
    faults.extend(twice.map(|(id, count)| format!("the call {id} was started {count} times")));
}
