//! What a job has come to when an attempt ends.

use shared::db::{self, Pool};
use shared::event::{EventData, ToolCompleted};
use shared::job::{Job, JobResult};

use crate::transcript::Transcript;

/// What there is, should the job end now.
#[derive(Default)]
pub(super) struct Left {
    /// What it has made and used.
    pub(super) result: JobResult,
    /// A result for each call that will have no other.
    pub(super) unanswered: Vec<EventData>,
}

impl Left {
    /// What the attempt's own loop has.
    pub(super) fn of(mut transcript: Transcript) -> Self {
        let calls = transcript.give_up();
        let results = calls.map(|call| ToolCompleted::unanswered(call.call_id));
        Self {
            unanswered: results.map(EventData::ToolCompleted).collect(),
            result: transcript.progress.into_result(),
        }
    }

    /// What earlier attempts have left, for one that came to no loop of its own.
    pub(super) async fn read(pool: &Pool, job: &Job) -> sqlx::Result<Self> {
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
