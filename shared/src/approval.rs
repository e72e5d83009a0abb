//! Approvals: calls of tools that wait for a person.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::event::{ApprovalResolved, EventData};
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
    /// Where it stands.
    pub status: ApprovalStatus,
    /// Since when it waits.
    pub requested_at: DateTime<Utc>,
    /// When it counts as denied unless someone answers.
    pub expires_at: DateTime<Utc>,
    /// When it was answered, or ended without an answer.
    #[schema(required)]
    pub resolved_at: Option<DateTime<Utc>>,
    /// What the person said; a denial's reason is told to the model.
    #[schema(required)]
    pub reason: Option<String>,
    /// The name of the key with which it was answered.
    #[schema(required)]
    pub resolved_by: Option<String>,
}

/// Where an approval stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "approval_status", rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// Nobody has answered yet.
    Pending,
    /// The call may run.
    Approved,
    /// Someone said no.
    Denied,
    /// Nobody answered in time, which counts as no.
    Expired,
    /// The job was cancelled first.
    Cancelled,
}

/// How an approval ends.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Anything but pending.
    pub status: ApprovalStatus,
    /// What the person said.
    pub reason: Option<String>,
    /// The name of the key with which they said it.
    pub resolved_by: Option<String>,
}

impl Answer {
    /// An end that nobody has brought about by an answer.
    pub fn unasked(status: ApprovalStatus) -> Self {
        Self {
            status,
            reason: None,
            resolved_by: None,
        }
    }
}

/// What the log of a job gets when those of its pending approvals end that have an answer.
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
