//! Approvals: tool calls that wait for the decision of a person.

pub use skillet_wire::approval::Approval;

use crate::event::{ApprovalResolved, ApprovalStatus, EventData};

/// The answer to an approval.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The new status. Never pending.
    pub status: ApprovalStatus,
    /// The reason that the person gave.
    pub reason: Option<String>,
    /// The name of the API key that gave the answer.
    pub resolved_by: Option<String>,
}

impl Answer {
    /// Creates the answer of an approval that ended without a decision.
    pub fn unasked(status: ApprovalStatus) -> Self {
        Self {
            status,
            reason: None,
            resolved_by: None,
        }
    }
}

/// Returns the events for those pending approvals to which `answer` gives an answer.
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
