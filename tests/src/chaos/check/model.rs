//! Rules about requests to the model.

use std::collections::HashMap;

use crate::chaos::history::JobHistory;

/// An attempt resumes the loop after all replies that are in the log at its start, and requests each later reply at
/// most once. This also holds for a worker that does not know yet that it is superseded.
pub(super) fn no_reply_is_asked_for_again(job: &JobHistory, faults: &mut Vec<String>) {
    // The number of replies at the start of each attempt, by worker.
    let mut begun: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut replies = 0;
    let mut last = 0;
    for event in &job.events {
        match event["type"].as_str() {
            Some("message.completed") => replies += 1,
            Some("job.started") => {
                let attempt = JobHistory::attempt(event);
                if let Some(worker) = job.starters.get(&attempt) {
                    begun.entry(*worker).or_default().push(replies);
                }
            }
            _ => {}
        }
        last = last.max(JobHistory::attempt(event));
    }
    // An attempt whose worker died before its first event was committed may have sent requests too.
    let silent = usize::try_from(last).unwrap_or(0)
        - job
            .of_type("job.started")
            .count()
            .min(usize::try_from(last).unwrap_or(0));
    let mut asked: HashMap<(usize, usize), usize> = HashMap::new();
    for request in &job.asked {
        *asked.entry((request.worker, request.turn)).or_default() += 1;
    }
    for ((worker, turn), count) in asked {
        let attempts = begun.get(&worker).map_or(&[][..], |all| all);
        let may = attempts.iter().filter(|before| **before <= turn).count() + silent;
        if count > may {
            faults.push(format!(
                "process {worker} asked {count} times for reply {turn}, which {may} of its attempts lacked"
            ));
        }
    }
}
