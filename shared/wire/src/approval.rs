//! Approvals: tool calls that wait for the decision of a person.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::event::ApprovalStatus;
use crate::id::{ApprovalId, JobId};

/// A call of a tool that waits for a person, or has waited.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// Its identifier.
    pub id: ApprovalId,
    /// The job that waits.
    pub job_id: JobId,
    /// The call in the model's reply.
    pub call_id: String,
    /// The tool.
    #[cfg_attr(feature = "openapi", schema(example = "shell.exec"))]
    pub tool: String,
    /// Its arguments.
    #[cfg_attr(feature = "openapi", schema(value_type = Map<String, Value>))]
    pub input: Value,
    /// The status.
    pub status: ApprovalStatus,
    /// Since when it waits.
    pub requested_at: DateTime<Utc>,
    /// When it counts as denied unless someone answers.
    pub expires_at: DateTime<Utc>,
    /// When it was answered, or ended without an answer.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub resolved_at: Option<DateTime<Utc>>,
    /// The reason that the person gave. The model receives the reason of a denial.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub reason: Option<String>,
    /// The name of the key with which it was answered.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub resolved_by: Option<String>,
}
