//! Errors of jobs.

use serde::{Deserialize, Serialize};

/// Why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[error("{message}")]
pub struct JobError {
    /// For programs.
    pub code: JobErrorCode,
    /// For people.
    pub message: String,
    /// Whether the same job may succeed another time.
    pub retryable: bool,
}

/// The reasons for which a job can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobErrorCode {
    /// `limits.timeout_seconds` ran out.
    Timeout,
    /// The provider was overloaded or out of reach, and stayed so.
    ModelUnavailable,
    /// The provider refused the request, or sent an unreadable answer.
    ModelRefused,
    /// No worker here can ask this model: its provider or its key is not configured.
    ModelNotConfigured,
    /// An input could not be fetched or staged.
    InputUnavailable,
    /// A secret that the skill needs is not set any more, or cannot be opened by the worker.
    SecretUnavailable,
    /// The job's parameters or secrets do not name the hosts that its skill is to reach.
    NetworkUnavailable,
    /// An MCP server of the agent did not start, or did not say which tools it has.
    McpServerUnavailable,
    /// Several workers died while they ran the job.
    WorkerLost,
    /// The job was written by another release than that of the workers, and none of them could read it for hours.
    JobUnreadable,
    /// The model handed over no result that matches the `output_schema`, also after two repairs.
    ResultInvalid,
    /// Our fault.
    Internal,
}

impl JobErrorCode {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::ModelUnavailable => "model_unavailable",
            Self::ModelRefused => "model_refused",
            Self::ModelNotConfigured => "model_not_configured",
            Self::InputUnavailable => "input_unavailable",
            Self::SecretUnavailable => "secret_unavailable",
            Self::NetworkUnavailable => "network_unavailable",
            Self::McpServerUnavailable => "mcp_server_unavailable",
            Self::WorkerLost => "worker_lost",
            Self::JobUnreadable => "job_unreadable",
            Self::ResultInvalid => "result_invalid",
            Self::Internal => "internal",
        }
    }

    /// The error with these words.
    pub fn with(self, message: impl Into<String>) -> JobError {
        let retryable = match self {
            Self::ModelUnavailable
            | Self::InputUnavailable
            | Self::SecretUnavailable
            | Self::McpServerUnavailable
            | Self::WorkerLost
            | Self::JobUnreadable
            | Self::ResultInvalid
            | Self::Internal => true,
            Self::Timeout
            | Self::ModelRefused
            | Self::ModelNotConfigured
            | Self::NetworkUnavailable => false,
        };
        JobError {
            code: self,
            message: message.into(),
            retryable,
        }
    }
}
