//! The last event of a job and the end of its run.

use chrono::{DateTime, Utc};

use super::RunTransition;
use crate::event::EventData;
use crate::job::{Job, JobResult, Outcome, Output, with_durations};

/// Returns the last event of a job and the transition of its run.
pub fn finish(
    job: Job,
    outcome: Outcome,
    at: DateTime<Utc>,
    result: JobResult,
) -> (EventData, RunTransition) {
    let stored = serde_json::to_string(&result).expect("results have string keys");
    let skill_digest = job.skill_digest.clone();
    let at = no_earlier_than(&result.outputs, at);
    let ended = with_durations(Job {
        status: outcome.into(),
        finished_at: Some(at),
        result,
        queue: None,
        ..job
    });
    let event = match outcome {
        Outcome::Completed => EventData::JobCompleted(Box::new(ended)),
        Outcome::Failed => EventData::JobFailed(Box::new(ended)),
        Outcome::Cancelled => EventData::JobCancelled(Box::new(ended)),
    };
    (
        event,
        RunTransition::Finish {
            outcome,
            at,
            result: stored,
            skill_digest,
        },
    )
}

/// Returns `at`, or the time of the last output if that is later. The clock of a worker starts when the response to
/// its claim arrives, so it is slightly behind the database's clock, which sets the times of outputs.
fn no_earlier_than(outputs: &[Output], at: DateTime<Utc>) -> DateTime<Utc> {
    let stored = outputs.iter().map(|output| output.asset.created_at);
    stored.fold(at, Ord::max)
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;
    use crate::asset::Asset;
    use crate::asset::OutputKind;
    use crate::id::AssetId;

    #[test]
    fn a_job_ends_no_earlier_than_its_last_output_was_stored() {
        let at: DateTime<Utc> = "2026-01-01T00:00:00Z".parse().unwrap();
        let output = |created_at| Output {
            kind: OutputKind::Document,
            asset: Asset {
                id: AssetId::new(),
                name: "a.txt".to_owned(),
                content_type: "text/plain".to_owned(),
                size: 1,
                sha256: String::new(),
                created_at,
                content_url: String::new(),
            },
        };
        let (before, after) = (at - TimeDelta::seconds(1), at + TimeDelta::milliseconds(11));
        assert_eq!(no_earlier_than(&[], at), at);
        assert_eq!(no_earlier_than(&[output(before)], at), at);
        assert_eq!(no_earlier_than(&[output(after), output(before)], at), after);
    }
}
