//! The prompt for pending approvals in a terminal.

mod keyboard;
mod question;

use std::collections::VecDeque;

use shared::approval::Approval;
use shared::event::{ApprovalResolved, Event, EventData};
use shared::id::JobId;

use crate::progress::ProgressDisplay;
use keyboard::Keyboard;
pub(crate) use question::question;
use question::{PromptAnswer, understand};
use skillet_client::Client;

/// Asks in the terminal about the pending approvals of a job.
pub(crate) struct ApprovalPrompt<'a> {
    client: &'a Client,
    job: JobId,
    /// `None` if standard input is not a terminal.
    keyboard: Option<Keyboard>,
    /// The pending approvals. The prompt asks about the first one.
    waiting: VecDeque<Approval>,
}

impl<'a> ApprovalPrompt<'a> {
    pub(crate) fn new(client: &'a Client, job: JobId) -> Self {
        Self {
            client,
            job,
            keyboard: Keyboard::open(),
            waiting: VecDeque::new(),
        }
    }

    /// Updates the pending approvals from an event, and asks about the first.
    pub(crate) async fn hear(
        &mut self,
        event: &Event,
        progress: &mut ProgressDisplay,
    ) -> anyhow::Result<()> {
        match event.parse() {
            // The approvals in an old log may be resolved already, so the pending ones are read from the API.
            Ok(EventData::JobWaiting(_)) => {
                let path = format!("/v1/jobs/{}/approvals?status=pending", self.job);
                let pending: Vec<Approval> = self.client.list(&path, &[], None).await?;
                // The API lists the newest approval first. The model made the calls in the opposite order.
                self.waiting = pending.into_iter().rev().collect();
                self.ask(progress);
            }
            Ok(EventData::ApprovalResolved(resolved)) => self.forget(&resolved, progress),
            _ => {}
        }
        Ok(())
    }

    /// Returns the next typed line, or `None` at the end of the input. Waits forever if there is no question.
    pub(crate) async fn line(&self) -> std::io::Result<Option<String>> {
        match &self.keyboard {
            Some(keyboard) if !self.waiting.is_empty() => keyboard.line().await,
            _ => std::future::pending().await,
        }
    }

    /// Sends the line as the answer to the first approval.
    pub(crate) async fn answer(
        &mut self,
        line: Option<String>,
        progress: &mut ProgressDisplay,
    ) -> anyhow::Result<()> {
        let Some(approval) = self.waiting.front() else {
            return Ok(());
        };
        let Some(line) = line else {
            // The input has ended.
            self.keyboard = None;
            self.ask(progress);
            return Ok(());
        };
        let (approved, reason) = match understand(&line) {
            PromptAnswer::Yes => (true, None),
            PromptAnswer::No(reason) => (false, reason),
            PromptAnswer::Nothing => {
                progress.ask("  yes, no, or a reason to deny: ");
                return Ok(());
            }
        };
        let reason = reason.as_deref();
        let answered = match approved {
            true => self.client.approve(approval.id, reason).await,
            false => self.client.deny(approval.id, reason).await,
        };
        // If another user answered first, that answer wins and the error is only shown.
        if let Err(error) = answered {
            progress.say(&format!("  ! {error}"));
        }
        self.waiting.pop_front();
        self.ask(progress);
        Ok(())
    }

    /// Asks about the first pending approval. Without a keyboard, prints all of them with the commands that answer
    /// them.
    fn ask(&mut self, progress: &mut ProgressDisplay) {
        let Some(approval) = self.waiting.front() else {
            progress.go_on();
            return;
        };
        match &self.keyboard {
            Some(keyboard) => {
                progress.say(&question(approval));
                // Input that was typed before the question is not an answer to it.
                keyboard.flush();
                progress.ask("  approve? yes, no, or a reason to deny: ");
            }
            None => {
                for approval in self.waiting.drain(..) {
                    progress.say(&question(&approval));
                    let id = approval.id;
                    progress.say(&format!("  to answer: skillet approvals approve {id}"));
                    progress.say(&format!(
                        "         or: skillet approvals deny {id} --reason …"
                    ));
                }
            }
        }
    }

    fn forget(&mut self, resolved: &ApprovalResolved, progress: &mut ProgressDisplay) {
        let was_asked = |approval: &Approval| approval.id == resolved.approval_id;
        let is_first = self.waiting.front().is_some_and(was_asked);
        self.waiting.retain(|approval| !was_asked(approval));
        if is_first {
            progress.say("\n  (answered elsewhere)");
            self.ask(progress);
        }
    }
}
