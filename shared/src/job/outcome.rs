//! The outcome of a job.

use skillet_wire::job::Status;

/// The outcome of a finished job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::Type)]
#[sqlx(type_name = "job_outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// The job ended with a result.
    Completed,
    /// The job ended with an error.
    Failed,
    /// The job was cancelled by request.
    Cancelled,
}

impl From<Outcome> for Status {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Completed => Self::Completed,
            Outcome::Failed => Self::Failed,
            Outcome::Cancelled => Self::Cancelled,
        }
    }
}
