//! The end of a job.

use chrono::{DateTime, Utc};

use super::Next;
use crate::event::EventData;
use crate::job::{Job, JobResult, Outcome};

/// The last event of a job, and what to do with its run.
pub fn finish(
    job: Job,
    outcome: Outcome,
    at: DateTime<Utc>,
    result: JobResult,
) -> (EventData, Next) {
    let stored = serde_json::to_string(&result).expect("results have string keys");
    let skill_digest = job.skill_digest.clone();
    let ended = Job {
        status: outcome.into(),
        finished_at: Some(at),
        result,
        queue: None,
        ..job
    };
    let event = match outcome {
        Outcome::Completed => EventData::JobCompleted(Box::new(ended)),
        Outcome::Failed => EventData::JobFailed(Box::new(ended)),
        Outcome::Cancelled => EventData::JobCancelled(Box::new(ended)),
    };
    (
        event,
        Next::Finish {
            outcome,
            at,
            result: stored,
            skill_digest,
        },
    )
}
