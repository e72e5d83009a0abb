//! Histories that violate one rule each.

mod time;
mod version;

use std::collections::HashMap;

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};

use super::check;
use crate::chaos::history::{Asked, Delivered, Download, History, JobHistory, Replay};
use crate::chaos::workload::SHOWN;

/// A job id from the beginning of 2026, when the log of the job begins.
const ID: &str = "job_019b76daa80070008000000000000000";

/// Returns a valid history of a job that survived a crash.
fn good() -> JobHistory {
    let command = |text: &str| json!({ "command": text });
    let call = |id: &str| {
        let block = json!({"type": "tool_call", "call_id": id});
        json!({"content": [block]})
    };
    let started = |id: &str, text: &str| json!({"call_id": id, "input": command(text)});
    let ok = |id: &str, stdout: &str| {
        let output = json!({ "stdout": stdout }).to_string();
        json!({"call_id": id, "outcome": "ok", "output": output})
    };
    let job = json!({
        "id": ID, "status": "completed", "outputs": [], "created_at": "2026-01-01T00:00:01Z",
        "started_at": "2026-01-01T00:00:02Z", "finished_at": "2026-01-01T00:00:13Z",
    });
    let events = [
        ("job.queued", 0, json!({})),
        ("job.started", 1, json!({})),
        ("message.completed", 1, call("a")),
        (
            "tool.started",
            1,
            started("a", "echo k turn 0 >> lines.txt; true"),
        ),
        ("tool.completed", 1, ok("a", "")),
        ("workspace.saved", 1, json!({})),
        ("job.retrying", 1, json!({"cause": "crash"})),
        ("job.started", 2, json!({})),
        ("message.completed", 2, call("b")),
        (
            "tool.started",
            2,
            started("b", &format!("echo '{SHOWN}'; cat lines.txt")),
        ),
        (
            "tool.completed",
            2,
            ok("b", &format!("{SHOWN}\nk turn 0\n")),
        ),
        ("message.completed", 2, json!({"content": []})),
        ("job.completed", 2, job.clone()),
    ];
    let events = (1..).zip(events).map(|(seq, (kind, attempt, data))| {
        let at = format!("2026-01-01T00:00:{seq:02}Z");
        json!({"seq": seq, "type": kind, "at": at, "attempt": attempt, "data": data})
    });
    let mut history = JobHistory {
        key: "k".to_owned(),
        accepted: vec![ID.to_owned(), ID.to_owned()],
        stored: vec![ID.to_owned()],
        job,
        events: events.collect(),
        starters: HashMap::from([(1, 0), (2, 1)]),
        asked: [(0, 0), (0, 1), (1, 1), (1, 2)]
            .map(|(worker, turn)| Asked { worker, turn })
            .into(),
        ..JobHistory::default()
    };
    observe(&mut history);
    history
}

/// Derives the replays, the feed and the deliveries from the log.
fn observe(job: &mut JobHistory) {
    let raw = |event: &Value| format!("id: {}\nevent: e\ndata: {event}", event["seq"]);
    let stream: Vec<_> = job.events.iter().map(raw).collect();
    job.replays = (0..job.events.len())
        .map(|after| Replay {
            after,
            stream: stream[after..].to_vec(),
            pages: job.events[after..].to_vec(),
        })
        .collect();
    job.followed = stream;
    job.feed = job.events.clone();
    job.delivered = job.events.iter().map(delivered).collect();
    job.job_elsewhere = vec![job.job.clone()];
}

/// Returns the delivery of an event.
fn delivered(event: &Value) -> Delivered {
    let id = ID.parse().unwrap();
    Delivered {
        id: shared::webhook::event_id(id, event["seq"].as_i64().unwrap()),
        content: json!({
            "type": event["type"], "timestamp": event["at"], "data": {"job_id": ID, "seq": event["seq"]},
        }),
    }
}

/// Returns the history of a run with the given jobs.
fn run(jobs: Vec<JobHistory>) -> History {
    let begun_at: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().unwrap();
    History {
        jobs,
        span: (begun_at, begun_at + TimeDelta::minutes(2)),
        losses: 1,
        ..History::default()
    }
}

/// Returns the violations of a run.
fn faults_of_run(history: &History) -> Vec<String> {
    check(history).into_iter().map(|it| it.what).collect()
}

/// Returns the violations of a job with a modified history.
fn faults(spoil: impl FnOnce(&mut JobHistory)) -> Vec<String> {
    let mut job = good();
    spoil(&mut job);
    faults_of_run(&run(vec![job]))
}

/// Returns the violations of a job with a modified log. All readers see the modified log.
fn faults_of_log(spoil: impl FnOnce(&mut Vec<Value>)) -> Vec<String> {
    faults(|job| {
        spoil(&mut job.events);
        for (seq, event) in (1..).zip(&mut job.events) {
            event["seq"] = json!(seq);
        }
        observe(job);
    })
}

#[track_caller]
fn assert_found(faults: &[String], wanted: &str) {
    assert!(faults.iter().any(|it| it.contains(wanted)), "{faults:#?}");
}

#[test]
fn a_run_in_which_all_went_well_has_no_fault() {
    assert_eq!(faults(|_| {}), [""; 0]);
}

#[test]
fn gaps_and_second_ends_are_found() {
    let gap = faults(|job| {
        job.events.remove(5);
        observe(job);
    });
    assert_found(&gap, "event 6 has the number 7");
    let two_ends = faults_of_log(|events| events.push(events[12].clone()));
    assert_found(&two_ends, "2 events end the log");
    let after_end = faults_of_log(|events| events.swap(11, 12));
    assert_found(&after_end, "there are events after the one");
    assert_found(
        &faults_of_log(|events| events.truncate(12)),
        "0 events end the log",
    );
}

#[test]
fn what_a_superseded_worker_wrote_is_found() {
    let late = faults_of_log(|events| events.insert(8, events[4].clone()));
    assert_found(&late, "is of attempt 1, after one of attempt 2");
    let after_retrying = faults_of_log(|events| events.swap(5, 6));
    assert_found(&after_retrying, "is of attempt 1, which had ended");
}

#[test]
fn calls_without_a_result_and_with_two_are_found() {
    assert_found(
        &faults_of_log(|events| drop(events.remove(10))),
        "the call b has 0 results",
    );
    let twice = faults_of_log(|events| events.insert(11, events[10].clone()));
    assert_found(&twice, "the call b has 2 results");
    let invented = faults_of_log(|events| events[9]["data"]["call_id"] = json!("c"));
    assert_found(&invented, "the call c was started, and no reply made it");
    let again = faults_of_log(|events| events.insert(10, events[9].clone()));
    assert_found(&again, "the call b was started 2 times");
    let denied = faults_of_log(|events| {
        events[10]["data"]["outcome"] = json!("denied");
        events.insert(10, events[9].clone());
    });
    assert!(
        !denied.iter().any(|fault| fault.contains("started")),
        "{denied:?}"
    );
}

#[test]
fn other_replays_and_followers_that_missed_something_are_found() {
    let stream = faults(|job| job.replays[4].stream[0].push(' '));
    assert_found(&stream, "the stream after 4 has other bytes");
    let pages = faults(|job| drop(job.replays[3].pages.pop()));
    assert_found(&pages, "the pages after 3 are not the log");
    let whole = faults(|job| job.events[2]["at"] = json!("2026-01-01T00:00:00Z"));
    assert_found(&whole, "the stream from the beginning is not the log");
    let missed = faults(|job| drop(job.followed.remove(7)));
    assert_found(&missed, "saw 12 events of 13, and the same up to 7");
}

#[test]
fn a_feed_that_is_not_the_log_is_found() {
    let lost = faults(|job| job.feed.retain(|event| event["type"] != "job.retrying"));
    assert_found(&lost, "the feed has");
    let twice = faults(|job| job.feed.insert(1, job.feed[0].clone()));
    assert_found(&twice, "the feed has");
}

#[test]
fn deliveries_that_are_lost_or_of_no_event_are_found() {
    let lost = faults(|job| {
        job.delivered
            .retain(|it| it.content["type"] != "job.completed");
    });
    assert_eq!(lost, ["event 13, job.completed, was not delivered"]);
    let twice = faults(|job| job.delivered.push(job.delivered[1].clone()));
    assert_eq!(twice, [""; 0], "at least once");
    let other_id = faults(|job| job.delivered[1].id.push('0'));
    assert_found(&other_id, "was delivered, which is not in the log");
    let other_time = faults(|job| job.delivered[1].content["timestamp"] = json!("2026-01-01"));
    assert_found(&other_time, "was delivered, which is not in the log");
    let unsigned = History {
        unverified: vec!["unsigned".to_owned()],
        ..History::default()
    };
    assert_eq!(faults_of_run(&unsigned), ["unsigned"]);
}

#[test]
fn a_reply_that_was_asked_for_again_is_found() {
    let again = faults(|job| job.asked.push(Asked { worker: 1, turn: 0 }));
    assert_found(
        &again,
        "process 1 asked 1 times for reply 0, which 0 of its attempts lacked",
    );
    let twice = faults(|job| job.asked.push(Asked { worker: 1, turn: 2 }));
    assert_found(&twice, "process 1 asked 2 times for reply 2, which 1");
}

#[test]
fn lost_and_doubled_jobs_are_found() {
    assert_found(
        &faults(|job| job.stored.clear()),
        &format!("{ID} was accepted and is not there"),
    );
    let doubled = faults(|job| job.stored.push("other".to_owned()));
    assert_found(&doubled, "its key made the jobs");
    let answers = faults(|job| job.accepted.push("other".to_owned()));
    assert_found(
        &answers,
        &format!("its key was answered with {ID} and other"),
    );
    assert_found(&faults(|job| job.accepted.clear()), "it was never accepted");
    assert_found(
        &faults(|job| job.is_in_queue = true),
        "it is still in the queue",
    );
}

#[test]
fn ends_that_nobody_asked_for_are_found() {
    let status =
        |status: &str| faults_of_log(|events| events[12]["data"]["status"] = json!(status));
    assert_found(&status("failed"), "the job is not what its last event says");
    let ended = |status: &'static str, accepted: bool| {
        faults(|job| {
            job.cancel_accepted = accepted;
            job.job["status"] = json!(status);
            job.events[12]["data"]["status"] = json!(status);
            observe(job);
        })
    };
    assert_found(&ended("failed", false), "it failed after 1 crashes");
    assert_found(
        &ended("cancelled", false),
        "it was cancelled, and nobody asked for it",
    );
    assert_eq!(ended("cancelled", true), [""; 0]);
    let burnt = faults_of_log(|events| events[6]["data"]["cause"] = json!("failure"));
    assert_found(&burnt, "1 attempts ended by a fault of ours");
}

#[test]
fn outputs_that_are_not_what_was_stated_are_found() {
    let download = |found: Result<String, String>| {
        let stated = "abc".to_owned();
        faults(|job| job.downloads.push(Download { stated, found }))
    };
    assert_eq!(download(Ok("abc".to_owned())), [""; 0]);
    assert_found(
        &download(Ok("abd".to_owned())),
        "an output of abc came as abd",
    );
    assert_found(&download(Err("404".to_owned())), "the output abc: 404");
}

#[test]
fn files_that_are_lost_or_restored_twice_are_found() {
    let shown = |lines: &str| {
        let output = json!({ "stdout": format!("{SHOWN}\n{lines}") }).to_string();
        faults_of_log(|events| events[10]["data"]["output"] = json!(output))
    };
    assert_found(&shown(""), "`k turn 0` was saved and is not in the file");
    assert_found(
        &shown("k turn 0\nk turn 0\n"),
        "`k turn 0` is 2 times in the file",
    );
    let unsaved = faults_of_log(|events| {
        events.remove(5);
        events[9]["data"]["output"] = json!(json!({ "stdout": SHOWN }).to_string());
    });
    assert_eq!(unsaved, [""; 0], "what was not saved may be lost");
}

#[test]
fn more_jobs_at_once_than_may_run_are_found() {
    let jobs = |conversation: Option<&str>| {
        let mut jobs = vec![good(), good()];
        for job in &mut jobs {
            job.conversation = conversation.map(str::to_owned);
        }
        jobs
    };
    let mut history = History {
        caps: HashMap::from([(0, 2)]),
        ..run(jobs(None))
    };
    assert_eq!(faults_of_run(&history), [""; 0]);
    history.caps.insert(0, 1);
    assert_eq!(
        faults_of_run(&history),
        ["tenant 0 had 2 jobs running, and may have 1"]
    );
    let history = run(jobs(Some("c")));
    assert_eq!(faults_of_run(&history), ["2 jobs of c ran at once"]);
    // The second job begins after the first has ended.
    let mut jobs = jobs(Some("c"));
    for event in &mut jobs[1].events {
        let at = event["at"]
            .as_str()
            .map(|at| at.replace("T00:00:", "T00:01:"));
        event["at"] = json!(at);
    }
    observe(&mut jobs[1]);
    assert_eq!(faults_of_run(&run(jobs)), [""; 0]);
}

#[test]
fn what_the_model_the_processes_and_uploads_say_is_passed_on() {
    let history = History {
        model_violations: vec!["the model".to_owned()],
        process_violations: vec!["a process".to_owned()],
        lost_files: vec!["a file".to_owned()],
        ..History::default()
    };
    let passed_on = ["the model", "a process", "a file"];
    assert_eq!(faults_of_run(&history), passed_on);
}
