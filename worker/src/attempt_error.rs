//! The reason why an attempt cannot go on: the job's own, or internal.

use shared::job::JobError;
use worker_workspace::SecretsError;

/// The reason why an attempt cannot go on.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// The job fails, and another attempt would not help.
    Job(JobError),
    /// An internal error; another attempt may help.
    Internal(anyhow::Error),
}

impl AttemptError {
    /// An internal error.
    pub(crate) fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self::Internal(error.into())
    }

    /// An error while an input was read: the job's, if a [`JobError`] caused it.
    pub(crate) fn from_input(error: anyhow::Error) -> Self {
        error
            .downcast::<JobError>()
            .map_or_else(Self::Internal, Self::Job)
    }
}

impl From<JobError> for AttemptError {
    fn from(error: JobError) -> Self {
        Self::Job(error)
    }
}

impl From<SecretsError> for AttemptError {
    fn from(error: SecretsError) -> Self {
        match error {
            SecretsError::Job(error) => Self::Job(error),
            SecretsError::Database(error) => Self::internal(error),
        }
    }
}
