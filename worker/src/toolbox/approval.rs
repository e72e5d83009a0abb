//! Calls that wait for a person: which they are, and what a denial is to the model.

use shared::approval::ApprovalStatus;
use shared::event::ApprovalResolved;
use shared::hook::Rule;
use shared::message::ToolCall;

use super::Toolbox;
use crate::transcript::Transcript;
use worker_workspace::Redactor;

/// How a call came to be allowed, or not.
pub(super) enum Permission {
    Granted,
    /// Nobody has been asked.
    Unasked,
    /// In words for the model.
    Denied(String),
}

impl Toolbox {
    /// Whether the call may run as far as the rules and people are concerned.
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

    /// If the next call has to wait for a person, all calls of the reply that do, so that they can be
    /// answered together. Calls that could not run anyway bother nobody.
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
        ApprovalStatus::Expired => "nobody answered in time whether it may",
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
