//! Events of approvals.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::ApprovalId;

/// Data of `approval.requested`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalRequested {
    /// The identifier of the approval, for `POST /v1/approvals/{approval_id}`.
    pub approval_id: ApprovalId,
    /// The identifier of the tool call.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// The arguments of the tool call.
    pub input: Value,
    /// When the approval expires. An approval without a decision by then counts as denied.
    pub expires_at: DateTime<Utc>,
}

/// Data of `approval.resolved`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ApprovalResolved {
    /// The identifier of the approval.
    pub approval_id: ApprovalId,
    /// The identifier of the tool call.
    pub call_id: String,
    /// Whether the tool call may run.
    pub approved: bool,
    /// The final status of the approval.
    pub status: ApprovalStatus,
    /// The reason that the person gave. Null if there is none.
    pub reason: Option<String>,
    /// The name of the API key that was used to decide. Null if nobody decided.
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
    /// A person approved the tool call.
    Approved,
    /// A person denied the tool call.
    Denied,
    /// Nobody decided in time. Counts as denied.
    Expired,
    /// The job was cancelled before anyone decided.
    Cancelled,
}

/// Data of `job.waiting`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobWaiting {
    /// The reason for the wait.
    pub reason: WaitReason,
    /// When the job continues without a decision.
    pub until: DateTime<Utc>,
}

/// Data of `job.resumed`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobResumed {
    /// The reason for the wait that has ended.
    pub reason: WaitReason,
}

/// The reason why a job waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// Tool calls need the approval of a person.
    Approval,
}
