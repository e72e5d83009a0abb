//! The result of a job so far, when an attempt ends.

use shared::db::{self, Pool};
use shared::event::{EventData, ToolCompleted};
use shared::job::{Job, JobResult};

use crate::transcript::Transcript;

/// The result of a job if it ended now.
#[derive(Default)]
pub(super) struct PartialResult {
    /// Its outputs and usage so far.
    pub(super) result: JobResult,
    /// A result for each call that will get no other.
    pub(super) unanswered: Vec<EventData>,
}

impl PartialResult {
    /// The result of the attempt's own loop.
    pub(super) fn of(mut transcript: Transcript) -> Self {
        let calls = transcript.give_up();
        let results = calls.map(|call| ToolCompleted::unanswered(call.call_id));
        Self {
            unanswered: results.map(EventData::ToolCompleted).collect(),
            result: transcript.progress.into_result(),
        }
    }

    /// The result of earlier attempts, for one whose loop did not begin.
    pub(super) async fn read(pool: &Pool, job: &Job) -> db::Result<Self> {
        if job.attempt == 1 {
            return Ok(Self::default());
        }
        let mut connection = pool.acquire().await?;
        let progress = db::event::get_progress(&mut connection, job.id).await?;
        Ok(Self {
            unanswered: db::event::list_unanswered(&mut connection, job.id).await?,
            result: progress.into_result(),
        })
    }
}
