//! Approval of tool calls: the calls that need one, and the denial that the model reads.

use shared::event::{ApprovalResolved, ApprovalStatus};
use shared::hook::Rule;
use shared::message::ToolCall;

use super::Toolbox;
use crate::transcript::Transcript;
use worker_workspace::Redactor;

/// Whether a call may run.
pub(super) enum Permission {
    Granted,
    /// The call needs an approval that was not requested yet.
    Unasked,
    /// The call was denied. The text is for the model.
    Denied(String),
}

impl Toolbox {
    /// Returns whether the rules and the approval decision allow the call.
    pub(super) fn permission(
        &self,
        call: &ToolCall,
        decision: Option<&ApprovalResolved>,
    ) -> Permission {
        match (self.rule(&call.tool), decision) {
            (Rule::Confirm, None) => Permission::Unasked,
            (Rule::Confirm, Some(decision)) if !decision.approved => {
                Permission::Denied(denial(decision))
            }
            _ => Permission::Granted,
        }
    }

    /// Returns the open calls that need an approval, if the next call is one of them. Otherwise returns none. Their
    /// approvals are requested together. Invalid calls need no approval, because they do not run.
    pub(crate) fn unapproved(
        &self,
        transcript: &Transcript,
        redactor: Option<&Redactor>,
    ) -> Vec<ToolCall> {
        let is_unasked = |call: &ToolCall| {
            let decision = transcript.decision(&call.call_id);
            matches!(self.permission(call, decision), Permission::Unasked)
                && self.admit(call, redactor).is_ok()
        };
        if transcript.next_call().is_some_and(is_unasked) {
            let open = transcript.open_calls();
            open.filter(|call| is_unasked(call)).cloned().collect()
        } else {
            Vec::new()
        }
    }
}

fn denial(decision: &ApprovalResolved) -> String {
    let who = match decision.status {
        ApprovalStatus::Expired => "nobody answered in time whether it is allowed",
        _ => "a person has denied it",
    };
    let why = match &decision.reason {
        Some(reason) => format!(". They said: {reason}\n"),
        None => ". ".to_owned(),
    };
    format!(
        "the call was not run: {who}{why}Do not try to reach the same in another way; go on without it, or say what is \
         missing."
    )
}
