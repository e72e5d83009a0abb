//! Approvals: tool calls that wait for the decision of a person.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::event::{ApprovalResolved, ApprovalStatus, EventData};
use crate::id::{ApprovalId, JobId};

/// A call of a tool that waits for a person, or has waited.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Approval {
    /// Its identifier.
    pub id: ApprovalId,
    /// The job that waits.
    pub job_id: JobId,
    /// The call in the model's reply.
    pub call_id: String,
    /// The tool.
    #[schema(example = "shell.exec")]
    pub tool: String,
    /// Its arguments.
    #[schema(value_type = Object)]
    pub input: Value,
    /// The status.
    pub status: ApprovalStatus,
    /// Since when it waits.
    pub requested_at: DateTime<Utc>,
    /// When it counts as denied unless someone answers.
    pub expires_at: DateTime<Utc>,
    /// When it was answered, or ended without an answer.
    #[schema(required)]
    pub resolved_at: Option<DateTime<Utc>>,
    /// The reason that the person gave. The model receives the reason of a denial.
    #[schema(required)]
    pub reason: Option<String>,
    /// The name of the key with which it was answered.
    #[schema(required)]
    pub resolved_by: Option<String>,
}

/// How an approval ends.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The new status; not pending.
    pub status: ApprovalStatus,
    /// The reason that the person gave.
    pub reason: Option<String>,
    /// The name of the API key of that person.
    pub resolved_by: Option<String>,
}

impl Answer {
    /// The end of an approval without a decision.
    pub fn unasked(status: ApprovalStatus) -> Self {
        Self {
            status,
            reason: None,
            resolved_by: None,
        }
    }
}

/// The events of pending approvals that have a decision.
pub fn resolve(
    pending: &[Approval],
    answer: impl Fn(&Approval) -> Option<Answer>,
) -> Vec<EventData> {
    let resolved = pending.iter().filter_map(|approval| {
        let Answer {
            status,
            reason,
            resolved_by,
        } = answer(approval)?;
        Some(EventData::ApprovalResolved(ApprovalResolved {
            approval_id: approval.id,
            call_id: approval.call_id.clone(),
            approved: status == ApprovalStatus::Approved,
            status,
            reason,
            resolved_by,
        }))
    });
    resolved.collect()
}
