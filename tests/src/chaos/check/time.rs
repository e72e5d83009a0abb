//! Rules about the times of jobs and events.

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::Value;
use shared::id::JobId;

use crate::chaos::history::{History, JobHistory};

/// The largest error of a right clock. A wrong clock is weeks off.
const TOLERANCE: TimeDelta = TimeDelta::minutes(1);

pub(super) fn its_log_never_goes_back_in_time(job: &JobHistory, faults: &mut Vec<String>) {
    for pair in job.events.windows(2) {
        let (before, after) = (instant(&pair[0]["at"]), instant(&pair[1]["at"]));
        if before.is_none() || after < before {
            let (seq, before, after) = (&pair[1]["seq"], &pair[0]["at"], &pair[1]["at"]);
            faults.push(format!("event {seq} is of {after}, after one of {before}"));
        }
    }
}

pub(super) fn it_is_accepted_begins_and_ends_in_that_order(
    job: &JobHistory,
    faults: &mut Vec<String>,
) {
    let times = ["created_at", "started_at", "finished_at"];
    let known: Vec<_> = times
        .into_iter()
        .filter_map(|name| Some((name, instant(&job.job[name])?)))
        .collect();
    for pair in known.windows(2) {
        let ((before, earlier), (after, later)) = (pair[0], pair[1]);
        if later < earlier {
            faults.push(format!("{after} is {later}, and {before} is {earlier}"));
        }
    }
}

/// All times come from the database's clock, whatever the clocks of the hosts are.
pub(super) fn its_times_are_those_of_the_run(
    history: &History,
    job: &JobHistory,
    faults: &mut Vec<String>,
) {
    let (begun_at, ended_at) = history.span;
    let is_of_run = |at: DateTime<Utc>| begun_at - TOLERANCE <= at && at <= ended_at + TOLERANCE;
    for name in ["created_at", "started_at", "finished_at"] {
        let at = instant(&job.job[name]);
        if at.is_some_and(|at| !is_of_run(at)) {
            faults.push(format!("{name} is {}, which is not now", job.job[name]));
        }
    }
    let strange = job.events.iter();
    let strange = strange.filter(|event| !instant(&event["at"]).is_some_and(is_of_run));
    faults.extend(strange.map(|event| {
        let (seq, at) = (&event["seq"], &event["at"]);
        format!("event {seq} is of {at}, which is not now")
    }));
    // The id determines the partition of the log and the position of the job in lists.
    for id in &job.accepted {
        if !made_at(id).is_some_and(is_of_run) {
            faults.push(format!("the id {id} is not of now"));
        }
    }
}

fn instant(value: &Value) -> Option<DateTime<Utc>> {
    value.as_str()?.parse().ok()
}

/// Returns the time in a job id.
fn made_at(id: &str) -> Option<DateTime<Utc>> {
    let (seconds, nanos) = id.parse::<JobId>().ok()?.0.get_timestamp()?.to_unix();
    DateTime::from_timestamp(seconds.try_into().ok()?, nanos)
}
