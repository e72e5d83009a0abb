//! The error that ends an attempt: the job's own, or internal.

use shared::job::JobError;
use worker_workspace::SecretsError;

/// The error that ends an attempt.
#[derive(Debug)]
pub(crate) enum AttemptError {
    /// The job fails, and another attempt would not help.
    Job(JobError),
    /// An internal error; another attempt may help.
    Internal(anyhow::Error),
}

impl AttemptError {
    /// Creates an internal error.
    pub(crate) fn internal(error: impl Into<anyhow::Error>) -> Self {
        Self::Internal(error.into())
    }

    /// Converts an error from reading an input. It is the job's error if a [`JobError`] caused it.
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
