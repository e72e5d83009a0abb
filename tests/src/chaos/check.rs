//! Rules that hold for every run, whatever faults were injected.
//!
//! Each rule reads a history and returns its violations as sentences.

mod cap;
mod delivery;
mod ending;
mod feed;
mod file;
mod log;
mod model;
mod stream;
#[cfg(test)]
mod tests;
mod time;
mod version;

use super::history::{History, JobHistory};

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The key of the job, if the violation concerns one job.
    pub key: Option<String>,
    /// The description of the violation.
    pub what: String,
}

/// A rule about one job. It appends its violations.
type Rule = fn(&JobHistory, &mut Vec<String>);

/// A rule about one job that also needs the history of the run.
type RuleInRun = fn(&History, &JobHistory, &mut Vec<String>);

const RULES: [Rule; 20] = [
    ending::what_was_accepted_is_there,
    ending::a_key_makes_one_job,
    ending::it_ends_as_it_should,
    ending::its_state_is_that_of_its_log,
    ending::its_outputs_are_there,
    log::it_is_dense_from_one,
    log::one_event_ends_it_and_none_follows,
    log::attempts_never_go_back,
    log::a_lease_that_ended_writes_nothing,
    log::every_call_has_one_result,
    stream::every_replay_is_the_same,
    stream::followers_saw_the_log,
    model::no_reply_is_asked_for_again,
    feed::it_has_each_milestone_once,
    delivery::each_milestone_is_delivered,
    delivery::what_is_delivered_is_in_the_log,
    file::what_was_saved_is_there,
    time::its_log_never_goes_back_in_time,
    time::it_is_accepted_begins_and_ends_in_that_order,
    version::it_is_unreadable_only_if_the_next_version_wrote_it,
];

const RULES_IN_RUN: [RuleInRun; 4] = [
    ending::no_job_is_given_up_for_nothing,
    time::its_times_are_those_of_the_run,
    version::only_workers_that_understand_it_begin_it,
    version::no_attempt_is_lost_before_it_begins,
];

/// Returns all violations of a history.
pub fn check(history: &History) -> Vec<Violation> {
    let mut violations = Vec::new();
    for job in &history.jobs {
        let mut faults = Vec::new();
        RULES.iter().for_each(|rule| rule(job, &mut faults));
        let rules = RULES_IN_RUN.iter();
        rules.for_each(|rule| rule(history, job, &mut faults));
        let of_job = |what| Violation {
            key: Some(job.key.clone()),
            what,
        };
        violations.extend(faults.into_iter().map(of_job));
    }
    let mut faults = history.model_violations.clone();
    faults.extend(history.process_violations.clone());
    faults.extend(history.lost_files.clone());
    faults.extend(history.unverified.clone());
    cap::no_tenant_exceeds_its_cap(history, &mut faults);
    cap::conversations_run_one_job_at_a_time(history, &mut faults);
    violations.extend(faults.into_iter().map(|what| Violation { key: None, what }));
    violations
}
