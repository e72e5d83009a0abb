//! Histories of mixed releases.

use std::collections::HashSet;

use serde_json::json;

use super::{assert_found, faults_of_run, good, observe, run};

#[test]
fn workers_that_begin_what_they_cannot_read_are_found() {
    let mut job = good();
    job.is_of_next_version = true;
    let mut history = run(vec![job]);
    history.next_version = HashSet::from([0, 1]);
    assert_eq!(faults_of_run(&history), [""; 0]);
    history.next_version = HashSet::from([1]);
    assert_eq!(
        faults_of_run(&history),
        ["process 0 began attempt 1, and cannot read it"]
    );
}

#[test]
fn jobs_that_cannot_be_read_although_this_version_wrote_them_are_found() {
    let mut job = good();
    job.events[6]["data"]["cause"] = json!("unreadable");
    observe(&mut job);
    let mut history = run(vec![job]);
    assert_eq!(faults_of_run(&history), ["1 attempts could not read it"]);
    history.jobs[0].is_of_next_version = true;
    history.next_version = HashSet::from([0, 1]);
    assert_eq!(faults_of_run(&history), [""; 0]);
}

#[test]
fn attempts_that_are_lost_with_another_job_are_found() {
    let mut job = good();
    job.events.remove(1);
    job.starters.remove(&1);
    let mut history = run(vec![job]);
    let lost = "attempt 1 was lost before it began, and nothing was done to workers";
    assert!(!faults_of_run(&history).contains(&lost.to_owned()));
    history.losses = 0;
    assert_found(&faults_of_run(&history), lost);
}

#[test]
fn jobs_that_are_given_up_without_a_cause_are_found() {
    let mut job = good();
    job.job["status"] = json!("failed");
    job.job["error"] = json!({"code": "worker_lost"});
    job.events[12]["data"] = job.job.clone();
    let mut second = job.events[6].clone();
    second["attempt"] = json!(2);
    job.events.insert(12, second);
    for (seq, event) in (1..).zip(&mut job.events) {
        event["seq"] = json!(seq);
        event["at"] = json!(format!("2026-01-01T00:00:{seq:02}Z"));
    }
    observe(&mut job);
    let mut history = run(vec![job]);
    history.losses = 3;
    assert_eq!(faults_of_run(&history), [""; 0]);
    history.losses = 2;
    assert_eq!(
        faults_of_run(&history),
        ["it was given up for lost workers, and only 2 things were done to workers"]
    );
}
