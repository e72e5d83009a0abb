//! The follower of a job in its chat, from its first message to its last.
//!
//! Each step that others can see is recorded in the metadata of the job before the next step. Another process can
//! continue from there.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::Utc;
use skillet_client::Error;
use skillet_client::types::approval::Approval;
use skillet_client::types::event::{
    ApprovalRequested, ApprovalResolved, ApprovalStatus, EventData,
};
use skillet_client::types::id::{ApprovalId, JobId};
use skillet_client::types::job::{Job, Output};
use tokio::time::{MissedTickBehavior, interval};
use tracing::warn;

use crate::adapter::Adapter;
use crate::approval::{AskedCall, no_buttons, outcome_text};
use crate::bot_error::BotError;
use crate::chat_jobs::ChatJobs;
use crate::delivery::{self, DeliveryPart, file_forms, link_text, lost_text};
use crate::error::TelegramError;
use crate::job_record::JobRecord;
use crate::outbox::{OutgoingFile, OutgoingText, pause};
use crate::progress::JobProgress;
use crate::rich_text::RichText;

/// The interval at which the messages are updated.
const REFRESH: Duration = Duration::from_millis(500);
const NOT_ACCEPTED: &str = "Telegram did not accept it";

/// Follows a job until its last message has been sent.
pub(crate) async fn follow(adapter: &Adapter, id: JobId) -> Result<(), TelegramError> {
    let job = adapter.client.job(id).await?;
    let record = JobRecord::of(&job, adapter.bot.id()).filter(|record| record.open);
    let Some(record) = record else {
        return Ok(());
    };
    let mut follower = JobFollower {
        adapter,
        id,
        record,
        progress: JobProgress::new(&job),
        shown: BTreeMap::new(),
        asked: BTreeMap::new(),
    };
    if !job.status.is_terminal() {
        follower.show_status().await?;
    }
    follower.follow_log().await?;
    let job = adapter.client.job(id).await?;
    follower.close(&job).await
}

struct JobFollower<'a> {
    adapter: &'a Adapter,
    id: JobId,
    record: JobRecord,
    progress: JobProgress,
    /// The content of messages, by their ids. A message that cannot be changed has no entry.
    shown: BTreeMap<i64, String>,
    /// The tool calls that wait for approval.
    asked: BTreeMap<ApprovalId, AskedCall>,
}

impl JobFollower<'_> {
    async fn show_status(&mut self) -> Result<(), TelegramError> {
        if let Some(message) = self.record.status_message {
            // The message may show something else by now.
            self.shown.insert(message, String::new());
            return Ok(());
        }
        let text = self.progress.text();
        let html = text.html();
        let out = OutgoingText::new(text).reply_to(self.record.message);
        if let Some(message) = self.send(&out).await? {
            self.shown.insert(message, html);
            self.record.status_message = Some(message);
            self.save().await?;
        }
        Ok(())
    }

    async fn follow_log(&mut self) -> Result<(), TelegramError> {
        let mut events = self.adapter.client.follow(self.id);
        let mut tick = interval(REFRESH);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = self.adapter.stop.cancelled() => return Err(BotError::Stopping.into()),
                _ = tick.tick() => self.refresh().await?,
                event = events.next() => match event? {
                    // A type that a later version of the service added changes nothing here.
                    Some(event) => if let Ok(data) = event.parse() {
                        self.take(&data).await?;
                    },
                    None => return Ok(()),
                },
            }
        }
    }

    async fn take(&mut self, event: &EventData) -> Result<(), TelegramError> {
        self.progress.apply(event);
        match event {
            EventData::ApprovalRequested(request) => self.ask(request).await,
            EventData::ApprovalResolved(end) => self.end_approval(end).await,
            _ => Ok(()),
        }
    }

    /// Asks for an approval, unless that was done before or the approval has ended.
    async fn ask(&mut self, request: &ApprovalRequested) -> Result<(), TelegramError> {
        let id = request.approval_id;
        let call = AskedCall {
            id,
            tool: request.tool.clone(),
            input: request.input.clone(),
            expires_at: request.expires_at,
        };
        self.asked.insert(id, call.clone());
        if let Some(message) = self.record.approvals.get(&id) {
            self.shown.insert(*message, String::new());
            return Ok(());
        }
        let path = format!("/v1/approvals/{id}");
        let approval: Approval = self.adapter.client.get(&path, &[]).await?;
        if approval.status != ApprovalStatus::Pending {
            return Ok(());
        }
        let text = call.text(Utc::now());
        let html = text.html();
        let buttons = Some(call.buttons());
        let reply_to = self.record.status_message.unwrap_or(self.record.message);
        let out = OutgoingText::new(text).reply_to(reply_to).markup(buttons);
        if let Some(message) = self.send(&out).await? {
            self.shown.insert(message, html);
            self.record.approvals.insert(id, message);
            self.save().await?;
        }
        Ok(())
    }

    async fn end_approval(&mut self, end: &ApprovalResolved) -> Result<(), TelegramError> {
        let outcome = outcome_text(
            end.status,
            end.reason.as_deref(),
            end.resolved_by.as_deref(),
        );
        self.close_approval(end.approval_id, &outcome).await
    }

    async fn close_approval(&mut self, id: ApprovalId, outcome: &str) -> Result<(), TelegramError> {
        let asked = self.asked.remove(&id);
        let Some(message) = self.record.approvals.get(&id).copied() else {
            return Ok(());
        };
        let text = match asked {
            Some(call) => call.ended_text(outcome),
            None => RichText::plain(outcome),
        };
        let out = OutgoingText::new(text).markup(Some(no_buttons()));
        self.edit(message, &out).await?;
        self.shown.remove(&message);
        self.record.approvals.remove(&id);
        self.save().await
    }

    /// Updates the messages, as far as the rate limits permit it now.
    async fn refresh(&mut self) -> Result<(), TelegramError> {
        let now = Utc::now();
        let status = self.record.status_message;
        let mut wanted = Vec::from_iter(status.map(|it| (it, self.progress.text(), None)));
        for (id, message) in &self.record.approvals {
            if let Some(call) = self.asked.get(id) {
                wanted.push((*message, call.text(now), Some(call.buttons())));
            }
        }
        for (message, text, markup) in wanted {
            let html = text.html();
            let Some(shown) = self.shown.get_mut(&message) else {
                continue;
            };
            if *shown == html {
                continue;
            }
            let out = OutgoingText::new(text).markup(markup);
            let place = self.record.place;
            match self.adapter.outbox.try_edit(place, message, &out).await {
                Ok(true) => *shown = html,
                Ok(false) => {}
                // The message was deleted.
                Err(error) => {
                    warn!(job = %self.id, %error, "cannot edit a message");
                    self.shown.remove(&message);
                }
            }
        }
        Ok(())
    }

    /// Shows the end of the job, and sends its result.
    async fn close(mut self, job: &Job) -> Result<(), TelegramError> {
        let left: Vec<_> = self.record.approvals.keys().copied().collect();
        for id in left {
            let outcome = outcome_text(ApprovalStatus::Cancelled, None, None);
            self.close_approval(id, &outcome).await?;
        }
        if let Some(message) = self.record.status_message {
            let out = OutgoingText::new(self.progress.ended_text(job));
            self.edit(message, &out).await?;
        }
        for part in delivery::parts(job).into_iter().skip(self.record.delivered) {
            self.deliver(part).await?;
            self.record.delivered += 1;
            self.save().await?;
        }
        self.record.open = false;
        self.save().await
    }

    async fn deliver(&self, part: DeliveryPart) -> Result<(), TelegramError> {
        let reply_to = self.record.message;
        match part {
            DeliveryPart::Text(text) => {
                self.send(&OutgoingText::new(text).reply_to(reply_to))
                    .await?;
            }
            DeliveryPart::TextFile(name, text) => {
                let folder = tempfile::tempdir().map_err(TelegramError::Temporary)?;
                let path = folder.path().join(name);
                tokio::fs::write(&path, &text)
                    .await
                    .map_err(TelegramError::Temporary)?;
                let file = OutgoingFile {
                    method: "sendDocument",
                    field: "document",
                    path,
                    name: name.to_owned(),
                    content_type: "text/markdown".to_owned(),
                    reply_to: Some(reply_to),
                };
                let sent = self
                    .adapter
                    .outbox
                    .send_file(self.record.place, &file)
                    .await;
                if self.accept(sent)?.is_none() {
                    self.send_link(name, text.len() as u64, NOT_ACCEPTED)
                        .await?;
                }
            }
            DeliveryPart::File(output) => self.deliver_file(&output).await?,
        }
        Ok(())
    }

    async fn deliver_file(&self, output: &Output) -> Result<(), TelegramError> {
        let asset = &output.asset;
        let size = asset.size.unsigned_abs();
        if size > self.adapter.settings.max_upload() {
            return self
                .send_link(&asset.name, size, "too large for Telegram")
                .await;
        }
        let folder = tempfile::tempdir().map_err(TelegramError::Temporary)?;
        let path = folder.path().join("file");
        let path = match self.adapter.client.download(asset, &path).await {
            Err(error) if is_lost(&error) => {
                let out = OutgoingText::new(lost_text(asset)).reply_to(self.record.message);
                return self.send(&out).await.map(drop);
            }
            path => path?,
        };
        for file in file_forms(output, path, self.record.message) {
            match self
                .adapter
                .outbox
                .send_file(self.record.place, &file)
                .await
            {
                Ok(()) => return Ok(()),
                Err(BotError::Stopping) => return Err(BotError::Stopping.into()),
                Err(error) => {
                    warn!(job = %self.id, %error, form = file.method, "cannot send a file");
                    // Another form would be the same upload.
                    if error.is_transient() {
                        break;
                    }
                }
            }
        }
        self.send_link(&asset.name, size, NOT_ACCEPTED).await
    }

    async fn send_link(&self, name: &str, size: u64, reason: &str) -> Result<(), TelegramError> {
        let text = link_text(name, size, reason, &self.adapter.job_url(self.id));
        let out = OutgoingText::new(text).reply_to(self.record.message);
        self.send(&out).await.map(drop)
    }

    /// Sends a text. If the chat refuses it, for example because the user blocked the bot, the text is dropped.
    async fn send(&self, out: &OutgoingText) -> Result<Option<i64>, TelegramError> {
        let sent = self.adapter.outbox.send(self.record.place, out).await;
        self.accept(sent)
    }

    async fn edit(&self, message: i64, out: &OutgoingText) -> Result<(), TelegramError> {
        let edited = self
            .adapter
            .outbox
            .edit(self.record.place, message, out)
            .await;
        self.accept(edited).map(drop)
    }

    /// Drops a message that Telegram refused, because a retry would fail as well. The job continues without it.
    fn accept<T>(&self, sent: Result<T, BotError>) -> Result<Option<T>, TelegramError> {
        match sent {
            Ok(sent) => Ok(Some(sent)),
            Err(BotError::Stopping) => Err(BotError::Stopping.into()),
            Err(error) => {
                warn!(job = %self.id, %error, "cannot send to the chat");
                Ok(None)
            }
        }
    }

    /// Saves the record, with as many attempts as needed: without it, the latest message would be sent again.
    async fn save(&self) -> Result<(), TelegramError> {
        let jobs = ChatJobs {
            client: &self.adapter.client,
            bot: self.adapter.bot.id(),
        };
        let stop = &self.adapter.stop;
        let mut failures = 0;
        loop {
            match jobs.save(self.id, &self.record).await {
                Err(error) if error.is_transient() && !stop.is_cancelled() => {
                    warn!(job = %self.id, %error, "cannot save the record of a job; trying again");
                    pause(failures, stop).await;
                    failures += 1;
                }
                saved => return Ok(saved?),
            }
        }
    }
}

/// Whether the service no longer has the content of an asset.
fn is_lost(error: &Error) -> bool {
    matches!(error, Error::Service(refusal) if matches!(refusal.status, 404 | 410))
}
