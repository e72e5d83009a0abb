//! Rules about the acceptance and the end of jobs.

use crate::chaos::history::{History, JobHistory};

/// The number of workers that a job may lose before it fails.
const MAX_CRASHES: usize = 3;

pub(super) fn what_was_accepted_is_there(job: &JobHistory, faults: &mut Vec<String>) {
    if job.accepted.is_empty() {
        faults.push("it was never accepted".to_owned());
    }
    for id in &job.accepted {
        if !job.stored.contains(id) {
            faults.push(format!("{id} was accepted and is not there"));
        }
    }
}

pub(super) fn a_key_makes_one_job(job: &JobHistory, faults: &mut Vec<String>) {
    if job.stored.len() > 1 {
        faults.push(format!("its key made the jobs {:?}", job.stored));
    }
    if let Some(other) = job.accepted.iter().find(|id| **id != job.accepted[0]) {
        faults.push(format!(
            "its key was answered with {} and {other}",
            job.accepted[0]
        ));
    }
}

/// No injected fault ends a job, except the loss of three workers.
pub(super) fn it_ends_as_it_should(job: &JobHistory, faults: &mut Vec<String>) {
    let crashes = job.retried("crash");
    match job.job["status"].as_str() {
        Some("completed") => {}
        Some("cancelled") if job.cancel_accepted => {}
        Some("cancelled") => faults.push("it was cancelled, and nobody asked for it".to_owned()),
        Some("failed")
            if job.job["error"]["code"] == "worker_lost" && crashes + 1 == MAX_CRASHES => {}
        Some("failed") => faults.push(format!(
            "it failed after {crashes} crashes: {}",
            job.job["error"]
        )),
        status => faults.push(format!("it did not end: it is {status:?}")),
    }
    if job.is_in_queue {
        faults.push("it is still in the queue".to_owned());
    }
    let faulty = job.retried("failure");
    if faulty > 0 {
        faults.push(format!("{faulty} attempts ended by a fault of ours"));
    }
}

/// A job fails because of lost workers only if that many workers could be lost.
pub(super) fn no_job_is_given_up_for_nothing(
    history: &History,
    job: &JobHistory,
    faults: &mut Vec<String>,
) {
    let losses = history.losses;
    if job.job["error"]["code"] == "worker_lost" && losses < MAX_CRASHES {
        faults.push(format!(
            "it was given up for lost workers, and only {losses} things were done to workers"
        ));
    }
}

pub(super) fn its_state_is_that_of_its_log(job: &JobHistory, faults: &mut Vec<String>) {
    let last = job.events.last().map(|event| &event["data"]);
    if last != Some(&job.job) {
        faults.push("the job is not what its last event says".to_owned());
    }
    if job.job_elsewhere.iter().any(|other| *other != job.job) {
        faults.push("another API shows another job".to_owned());
    }
}

pub(super) fn its_outputs_are_there(job: &JobHistory, faults: &mut Vec<String>) {
    for download in &job.downloads {
        match &download.found {
            Ok(sha256) if *sha256 == download.stated => {}
            Ok(other) => faults.push(format!("an output of {} came as {other}", download.stated)),
            Err(error) => faults.push(format!("the output {}: {error}", download.stated)),
        }
    }
}
