//! Approvals: tool calls that wait for the decision of a person.

pub use skillet_wire::approval::Approval;

use crate::event::{ApprovalResolved, ApprovalStatus, EventData};

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
