//! Rules about limits on concurrent jobs.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use shared::event::is_terminal;

use crate::chaos::history::{History, JobHistory};

pub(super) fn no_tenant_exceeds_its_cap(history: &History, faults: &mut Vec<String>) {
    for (tenant, cap) in &history.caps {
        let jobs = history.jobs.iter().filter(|job| job.tenant == *tenant);
        let most = most_at_once(jobs);
        if most > *cap {
            faults.push(format!(
                "tenant {tenant} had {most} jobs running, and may have {cap}"
            ));
        }
    }
}

pub(super) fn conversations_run_one_job_at_a_time(history: &History, faults: &mut Vec<String>) {
    let mut conversations: HashMap<&str, Vec<&JobHistory>> = HashMap::new();
    for job in &history.jobs {
        if let Some(conversation) = &job.conversation {
            conversations.entry(conversation).or_default().push(job);
        }
    }
    for (conversation, jobs) in conversations {
        let most = most_at_once(jobs.into_iter());
        if most > 1 {
            faults.push(format!("{most} jobs of {conversation} ran at once"));
        }
    }
}

/// Returns the highest number of jobs that ran at the same time. The log records each start slightly late and each
/// end slightly early, so each overlap in the log is a real one.
fn most_at_once<'a>(jobs: impl Iterator<Item = &'a JobHistory>) -> usize {
    let mut changes = Vec::new();
    for job in jobs {
        let mut begun = None;
        for event in &job.events {
            let Some(at) = event["at"]
                .as_str()
                .and_then(|at| at.parse::<DateTime<Utc>>().ok())
            else {
                continue;
            };
            match event["type"].as_str().unwrap_or_default() {
                "job.started" => begun = Some(at),
                kind if is_terminal(kind) || matches!(kind, "job.retrying" | "job.waiting") => {
                    if let Some(begun) = begun.take() {
                        changes.extend([(begun, 1), (at, -1)]);
                    }
                }
                _ => {}
            }
        }
    }
    // Ends sort before starts at the same instant, so they do not overlap.
    changes.sort_unstable();
    let mut running = 0;
    let counts = changes.into_iter().map(|(_, change)| {
        running += change;
        running
    });
    usize::try_from(counts.max().unwrap_or(0)).unwrap_or(0)
}
