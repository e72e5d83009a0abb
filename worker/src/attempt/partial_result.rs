//! The result of a job so far, when an attempt ends.

use serde_json::Value;
use shared::db::{self, Pool};
use shared::event::{EventData, ToolCompleted};
use shared::job::{Job, JobResult};

use super::outcome::AttemptOutcome;
use crate::transcript::Transcript;

/// The result of a job if it ended now.
#[derive(Default)]
pub(super) struct PartialResult {
    /// Its outputs and usage so far.
    pub(super) result: JobResult,
    /// The structured result, or a description of its faults. `None` if the job needs none or its loop did not start.
    pub(super) structured: Option<Result<Value, String>>,
    /// A result for each tool call that has none.
    pub(super) unanswered: Vec<EventData>,
}

impl PartialResult {
    /// Returns the result for an outcome: that of the attempt's own loop, or else the one from `read`. If `read`
    /// fails, its error becomes the outcome. A lost attempt neither reads nor writes anything.
    pub(super) async fn for_outcome(
        outcome: AttemptOutcome,
        transcript: Option<Transcript>,
        read: impl AsyncFnOnce() -> db::Result<Self>,
    ) -> (Self, AttemptOutcome) {
        match (&outcome, transcript) {
            (AttemptOutcome::Lost, _) => (Self::default(), outcome),
            (_, Some(transcript)) => (Self::of(transcript), outcome),
            (_, None) => match read().await {
                Ok(partial) => (partial, outcome),
                Err(error) => (Self::default(), AttemptOutcome::Internal(error.into())),
            },
        }
    }

    /// Returns the result of the attempt's own loop.
    fn of(mut transcript: Transcript) -> Self {
        let calls = transcript.give_up();
        let results = calls.map(|call| ToolCompleted::unanswered(call.call_id));
        Self {
            unanswered: results.map(EventData::ToolCompleted).collect(),
            structured: transcript.take_result(),
            result: transcript.progress.into_result(),
        }
    }

    /// Reads the result of earlier attempts, for an attempt whose loop did not start.
    pub(super) async fn read(pool: &Pool, job: &Job) -> db::Result<Self> {
        if job.attempt == 1 {
            return Ok(Self::default());
        }
        let mut connection = pool.acquire().await?;
        let progress = db::event::get_progress(&mut connection, job.id).await?;
        Ok(Self {
            structured: None,
            unanswered: db::event::list_unanswered(&mut connection, job.id).await?,
            result: progress.into_result(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lost_attempt_stays_lost_when_the_database_is_out_of_reach() {
        let after = async |outcome| {
            let read = async || Err(db::Error::PoolClosed);
            PartialResult::for_outcome(outcome, None, read).await.1
        };
        assert!(matches!(
            after(AttemptOutcome::Lost).await,
            AttemptOutcome::Lost
        ));
        let drained = after(AttemptOutcome::Drained).await;
        assert!(matches!(drained, AttemptOutcome::Internal(_)));
    }
}
