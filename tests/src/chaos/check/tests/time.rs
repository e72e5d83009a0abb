//! Histories with wrong times.

use serde_json::json;

use super::{ID, assert_found, faults, faults_of_log, observe};

#[test]
fn logs_that_go_back_in_time_are_found() {
    let back = faults_of_log(|events| events[4]["at"] = json!("2026-01-01T00:00:03Z"));
    assert_found(
        &back,
        "event 5 is of \"2026-01-01T00:00:03Z\", after one of \"2026-01-01T00:00:04Z\"",
    );
    let at_once = faults_of_log(|events| events[4]["at"] = json!("2026-01-01T00:00:04Z"));
    assert_eq!(at_once, [""; 0], "one statement writes several events");
}

#[test]
fn jobs_that_end_before_they_begin_are_found() {
    let spoiled = |name: &str, at: &str| {
        faults(|job| {
            job.job[name] = json!(at);
            job.events[12]["data"] = job.job.clone();
            observe(job);
        })
    };
    assert_eq!(
        spoiled("finished_at", "2026-01-01T00:00:01Z"),
        ["finished_at is 2026-01-01 00:00:01 UTC, and started_at is 2026-01-01 00:00:02 UTC"]
    );
    assert_eq!(
        spoiled("started_at", "2026-01-01T00:00:00Z"),
        ["started_at is 2026-01-01 00:00:00 UTC, and created_at is 2026-01-01 00:00:01 UTC"]
    );
}

#[test]
fn times_of_a_wrong_clock_are_found() {
    let event = faults_of_log(|events| events[12]["at"] = json!("2026-01-23T00:00:00Z"));
    assert_eq!(
        event,
        ["event 13 is of \"2026-01-23T00:00:00Z\", which is not now"]
    );
    let end = faults(|job| {
        job.job["finished_at"] = json!("2026-01-23T00:00:00Z");
        job.events[12]["data"] = job.job.clone();
        observe(job);
    });
    assert_eq!(
        end,
        ["finished_at is \"2026-01-23T00:00:00Z\", which is not now"]
    );
    let three_weeks_later = ID.replace("019b76da", "019be826");
    let id = faults(|job| {
        job.accepted = vec![three_weeks_later.clone()];
        job.stored = job.accepted.clone();
    });
    // The deliveries have a different id too, which is another violation.
    assert_found(&id, &format!("the id {three_weeks_later} is not of now"));
}

#[test]
fn apis_that_do_not_agree_are_found() {
    let other = faults(|job| job.job_elsewhere[0]["status"] = json!("running"));
    assert_eq!(other, ["another API shows another job"]);
}
