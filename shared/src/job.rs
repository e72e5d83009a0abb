//! Jobs: their requests, results and usage.

mod origin;
mod outcome;
mod output_schema;
pub mod preview;
mod request;
mod unconfirmed_usage;

use chrono::{DateTime, Utc};

pub use origin::Origin;
pub use outcome::Outcome;
pub use output_schema::{OutputSchema, OutputSchemaError, ReferenceError};
pub use request::{Input, JobRequest, Priority, Target};
pub use skillet_wire::job::{
    Job, JobError, JobErrorCode, JobResult, LoopStop, Output, Presumed, QueuePlace, Reservation,
    Status, Usage,
};
pub use unconfirmed_usage::UnconfirmedUsage;

/// Computes the durations of a job from its times.
pub(crate) fn with_durations(job: Job) -> Job {
    let between = |from: Option<DateTime<Utc>>, to: Option<DateTime<Utc>>| {
        Some((to? - from?).num_milliseconds().max(0))
    };
    Job {
        queued_ms: between(Some(job.created_at), job.started_at.or(job.finished_at)),
        duration_ms: between(job.started_at, job.finished_at),
        ..job
    }
}
