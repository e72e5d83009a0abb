//! Taps on the buttons of an approval.

use skillet_client::Error;
use skillet_client::types::approval::Approval;
use skillet_client::types::event::ApprovalStatus;
use skillet_client::types::id::ApprovalId;

use crate::adapter::Adapter;
use crate::approval::{
    ApprovalButton, AskedCall, no_buttons, outcome_text, reason_markup, reason_question,
};
use crate::chat_answer;
use crate::error::TelegramError;
use crate::job_record::JobRecord;
use crate::outbox::OutgoingText;
use crate::place::ChatPlace;
use crate::split::shorten;
use crate::update::{ButtonTap, ChatMessage, ChatUser};

/// The maximum length of a reason in UTF-16 units. The service accepts 2,000 characters.
const MAX_REASON_LENGTH: usize = 2000;
const NOT_ALLOWED: &str = "You are not allowed to approve or deny this.";

/// Handles a tap. The message changes when the log of the job contains the decision.
pub(crate) async fn handle(adapter: &Adapter, tap: &ButtonTap) -> Result<(), TelegramError> {
    let decided = decide(adapter, tap).await;
    close_unrecorded(adapter, tap).await?;
    let text = match decided {
        Ok(text) => text,
        Err(TelegramError::Service(Error::Service(refusal)))
            if matches!(refusal.status, 404 | 409) =>
        {
            // Another person was faster, or the approval has ended.
            shorten(&refusal.to_string(), 200)
        }
        Err(error) => return Err(error),
    };
    adapter.outbox.answer_tap(&tap.id, &text).await;
    Ok(())
}

async fn decide(adapter: &Adapter, tap: &ButtonTap) -> Result<String, TelegramError> {
    let button = tap.data.as_deref().and_then(ApprovalButton::parse);
    let (Some((button, id)), Some(message)) = (button, &tap.message) else {
        return Ok("This button no longer works.".to_owned());
    };
    let place = message.place();
    if !may_decide(adapter, &tap.from, place, id).await? {
        return Ok(NOT_ALLOWED.to_owned());
    }
    match button {
        ApprovalButton::Allow => {
            let who = format!("{}, in Telegram", person(&tap.from));
            adapter.client.approve(id, Some(&who)).await?;
            Ok("Allowed".to_owned())
        }
        ApprovalButton::Deny => {
            let who = format!("{}, in Telegram", person(&tap.from));
            adapter.client.deny(id, Some(&who)).await?;
            Ok("Denied".to_owned())
        }
        ApprovalButton::DenyBecause => {
            let out = OutgoingText::new(reason_question(id)).reply_to(message.message_id);
            let out = out.markup(Some(reason_markup()));
            chat_answer::send(adapter, place, out).await?;
            Ok("Reply with the reason".to_owned())
        }
    }
}

/// Shows the end of an approval in a message that is missing in the record of the job. The process that sent it was
/// killed before it could record it.
async fn close_unrecorded(adapter: &Adapter, tap: &ButtonTap) -> Result<(), TelegramError> {
    let button = tap.data.as_deref().and_then(ApprovalButton::parse);
    let (Some((_, id)), Some(message)) = (button, &tap.message) else {
        return Ok(());
    };
    let Some((approval, record)) = find(adapter, message.place(), id).await? else {
        return Ok(());
    };
    let is_recorded = record.approvals.get(&id) == Some(&message.message_id);
    if is_recorded || approval.status == ApprovalStatus::Pending {
        return Ok(());
    }
    let (reason, by) = (approval.reason.as_deref(), approval.resolved_by.as_deref());
    let outcome = outcome_text(approval.status, reason, by);
    let text = AskedCall::of(approval).ended_text(&outcome);
    let out = OutgoingText::new(text).markup(Some(no_buttons()));
    chat_answer::edit(adapter, message.place(), message.message_id, out).await;
    Ok(())
}

/// Denies an approval with the text of a message as the reason, and returns the answer to the message.
pub(crate) async fn deny_because(
    adapter: &Adapter,
    message: &ChatMessage,
    user: &ChatUser,
    id: ApprovalId,
) -> Result<String, TelegramError> {
    if !may_decide(adapter, user, message.place(), id).await? {
        return Ok(NOT_ALLOWED.to_owned());
    }
    let reason = shorten(message.said(), MAX_REASON_LENGTH);
    adapter.client.deny(id, Some(&reason)).await?;
    Ok("Denied. The model receives your reason.".to_owned())
}

/// Whether the user may approve here, and the approval belongs to a job of this chat.
async fn may_decide(
    adapter: &Adapter,
    user: &ChatUser,
    place: ChatPlace,
    id: ApprovalId,
) -> Result<bool, TelegramError> {
    if !adapter.settings.access.may_approve(user.id, place.chat) {
        return Ok(false);
    }
    Ok(find(adapter, place, id).await?.is_some())
}

/// Returns the approval and the record of its job, if it is a job of this chat.
async fn find(
    adapter: &Adapter,
    place: ChatPlace,
    id: ApprovalId,
) -> Result<Option<(Approval, JobRecord)>, TelegramError> {
    let path = format!("/v1/approvals/{id}");
    let approval: Approval = adapter.client.get(&path, &[]).await?;
    let job = adapter.client.job(approval.job_id).await?;
    let record = JobRecord::of(&job, adapter.bot.id());
    let record = record.filter(|record| record.place.chat == place.chat);
    Ok(record.map(|record| (approval, record)))
}

/// Returns the name of a user with the id, which users cannot choose.
fn person(user: &ChatUser) -> String {
    let name = match &user.username {
        Some(username) => format!("@{username}"),
        None => shorten(&user.name(), 60),
    };
    format!("{name} ({})", user.id)
}
