//! The prompt for pending approvals in a terminal.

mod keyboard;
mod question;

use std::collections::VecDeque;
use std::time::Duration;

use shared::approval::Approval;
use shared::event::{ApprovalResolved, Event, EventData};
use shared::id::JobId;

use crate::progress::ProgressDisplay;
use keyboard::Keyboard;
pub(crate) use question::question;
use question::{PromptAnswer, understand};
use skillet_client::{Client, Error};
use tokio::time::{Instant, sleep};

/// The time for which a failed request for the pending approvals is repeated. It is longer than a restart of the
/// service. After it, following the job ends with an error.
const LIST_TIMEOUT: Duration = Duration::from_secs(120);
const LIST_RETRY_DELAY: Duration = Duration::from_millis(500);

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
                // The API lists the newest approval first. The model made the calls in the opposite order.
                self.waiting = self.list_pending().await?.into_iter().rev().collect();
                self.ask(progress);
            }
            Ok(EventData::ApprovalResolved(resolved)) => self.forget(&resolved, progress),
            _ => {}
        }
        Ok(())
    }

    async fn list_pending(&self) -> Result<Vec<Approval>, Error> {
        let path = format!("/v1/jobs/{}/approvals?status=pending", self.job);
        let deadline = Instant::now() + LIST_TIMEOUT;
        loop {
            match self.client.list(&path, &[], None).await {
                // The client does not retry.
                Err(error) if error.is_transient() && Instant::now() < deadline => {
                    sleep(LIST_RETRY_DELAY).await;
                }
                listed => return listed,
            }
        }
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
        if let Err(error) = &answered {
            progress.say(&format!("  ! {error}"));
        }
        // After a lost request, the same question is asked again. Other errors are final: if another user answered
        // first, that answer wins.
        if !answered.is_err_and(|error| error.is_transient()) {
            self.waiting.pop_front();
        }
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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use uuid::Uuid;

    use super::*;
    use crate::connect::connect;

    #[tokio::test]
    async fn a_lost_request_for_the_pending_approvals_is_repeated() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let service = std::thread::spawn(move || {
            // The first connection is lost.
            drop(listener.accept().unwrap());
            let (mut connection, _) = listener.accept().unwrap();
            let _ = connection.read(&mut [0; 4096]).unwrap();
            let body = r#"{"data": [], "next_cursor": null}"#;
            let length = body.len();
            write!(
                connection,
                "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"
            )
            .unwrap();
        });
        let client = connect(&url, "sk_x").unwrap();
        let prompt = ApprovalPrompt::new(&client, JobId(Uuid::nil()));
        assert!(prompt.list_pending().await.unwrap().is_empty());
        service.join().unwrap();
    }
}
