//! Events of approvals.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::ApprovalId;

/// Data of `approval.requested`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalRequested {
    /// Names it in `POST /v1/approvals/{approval_id}`.
    pub approval_id: ApprovalId,
    /// The call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub input: Value,
    /// When it counts as denied unless someone answers.
    pub expires_at: DateTime<Utc>,
}

/// Data of `approval.resolved`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalResolved {
    /// Which.
    pub approval_id: ApprovalId,
    /// The call.
    pub call_id: String,
    /// Whether the call may run.
    pub approved: bool,
    /// The status that the approval ended with.
    pub status: ApprovalStatus,
    /// The reason that the person gave.
    pub reason: Option<String>,
    /// The name of the API key of that person.
    pub resolved_by: Option<String>,
}

/// The status of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "server", derive(sqlx::Type))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "server",
    sqlx(type_name = "approval_status", rename_all = "snake_case")
)]
pub enum ApprovalStatus {
    /// Nobody has decided yet.
    Pending,
    /// The call may run.
    Approved,
    /// A person denied it.
    Denied,
    /// Nobody decided in time, which counts as denied.
    Expired,
    /// The job was cancelled first.
    Cancelled,
}

/// Data of `job.waiting`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobWaiting {
    /// For what.
    pub reason: WaitReason,
    /// When the job goes on without it.
    pub until: DateTime<Utc>,
}

/// Data of `job.resumed`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobResumed {
    /// For what it had waited.
    pub reason: WaitReason,
}

/// For what a job can wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// For a person to allow or deny calls of tools.
    Approval,
}
