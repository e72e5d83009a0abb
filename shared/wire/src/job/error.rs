//! Errors of jobs.

use serde::{Deserialize, Serialize};

/// The reason why a job failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[error("{message}")]
pub struct JobError {
    /// The error code, for programs.
    pub code: JobErrorCode,
    /// The error message, for people.
    pub message: String,
    /// Whether the same job may succeed later.
    pub retryable: bool,
}

/// The code of the error of a failed job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum JobErrorCode {
    /// The job reached `limits.timeout_seconds`.
    Timeout,
    /// The provider of the model was overloaded or unavailable, or sent invalid responses, for too long.
    ModelUnavailable,
    /// The provider rejected the request.
    ModelRefused,
    /// No worker can call this model: its provider or the API key of the provider is not configured.
    ModelNotConfigured,
    /// An input could not be fetched or copied into the workspace.
    InputUnavailable,
    /// A secret that the skill needs is no longer set, or the worker cannot decrypt it.
    SecretUnavailable,
    /// The job's parameters or secrets do not name the hosts that the skill needs to reach.
    NetworkUnavailable,
    /// An MCP server of the agent did not start, or did not list its tools.
    McpServerUnavailable,
    /// Several workers died while they ran the job.
    WorkerLost,
    /// The job was stored by another release than that of the workers, and no worker could read it for hours.
    JobUnreadable,
    /// The model returned no result that matches the `output_schema`, even after two corrections.
    ResultInvalid,
    /// A fault of the service.
    Internal,
}

impl JobErrorCode {
    /// Returns the name used in the API.
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

    /// Creates an error with this code and message.
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
