//! Rules about requests that a worker's release cannot read.

use crate::chaos::history::{History, JobHistory};

pub(super) fn it_is_unreadable_only_if_the_next_version_wrote_it(
    job: &JobHistory,
    faults: &mut Vec<String>,
) {
    let unreadable = job.retried("unreadable");
    if unreadable > 0 && !job.is_of_next_version {
        faults.push(format!("{unreadable} attempts could not read it"));
    }
}

pub(super) fn only_workers_that_understand_it_begin_it(
    history: &History,
    job: &JobHistory,
    faults: &mut Vec<String>,
) {
    if !job.is_of_next_version {
        return;
    }
    for (attempt, worker) in &job.starters {
        if !history.next_version.contains(worker) {
            faults.push(format!(
                "process {worker} began attempt {attempt}, and cannot read it"
            ));
        }
    }
}

/// An unreadable request does not cost an attempt of the jobs that were claimed with it.
pub(super) fn no_attempt_is_lost_before_it_begins(
    history: &History,
    job: &JobHistory,
    faults: &mut Vec<String>,
) {
    if history.losses > 0 {
        return;
    }
    for event in job.of_type("job.retrying") {
        let attempt = JobHistory::attempt(event);
        if event["data"]["cause"] == "crash" && !job.starters.contains_key(&attempt) {
            faults.push(format!(
                "attempt {attempt} was lost before it began, and nothing was done to workers"
            ));
        }
    }
}
