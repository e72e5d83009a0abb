//! Approvals: tool calls that wait for the decision of a person.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::ApprovalStatus;
use crate::id::{ApprovalId, JobId};

/// A tool call that needs the approval of a person.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// The identifier of the approval.
    pub id: ApprovalId,
    /// The job that made the tool call.
    pub job_id: JobId,
    /// The identifier of the tool call in the model's reply.
    pub call_id: String,
    /// The name of the tool.
    #[cfg_attr(feature = "openapi", schema(example = "shell.exec"))]
    pub tool: String,
    /// The arguments of the tool call.
    #[cfg_attr(feature = "openapi", schema(value_type = Map<String, Value>))]
    pub input: Value,
    /// The status of the approval.
    pub status: ApprovalStatus,
    /// When the approval was requested.
    pub requested_at: DateTime<Utc>,
    /// When the approval expires. An approval without a decision by then counts as denied.
    pub expires_at: DateTime<Utc>,
    /// When the approval was decided, expired or was cancelled. Null while it is pending.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub resolved_at: Option<DateTime<Utc>>,
    /// The reason that the person gave; null if there is none. The model receives the reason of a denial.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reason: Option<String>,
    /// The name of the API key that was used to decide. Null if nobody decided.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub resolved_by: Option<String>,
}
