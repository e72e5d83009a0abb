//! The handling of updates: access, commands, reasons for denials, and new jobs.

use skillet_client::{Error, ServiceError};

use crate::access::PairingResult;
use crate::adapter::Adapter;
use crate::album::UpdateGroup;
use crate::approval;
use crate::chat_action;
use crate::chat_answer;
use crate::command::ChatCommand;
use crate::error::TelegramError;
use crate::intake::{Intake, JobTarget, start_job};
use crate::outbox::OutgoingText;
use crate::prompt::{has_mention, prompt};
use crate::rich_text::RichText;
use crate::tap;
use crate::update::{ChatMessage, ChatUser};

/// The user id that all anonymous group administrators share.
const ANONYMOUS_ADMIN: i64 = 1_087_968_824;

/// Handles updates that belong together. Repeating it is harmless.
pub(crate) async fn handle(adapter: &Adapter, group: &UpdateGroup) -> Result<(), TelegramError> {
    for update in &group.updates {
        if let Some(tap) = &update.callback_query {
            tap::handle(adapter, tap).await?;
        }
    }
    let messages = group.messages();
    let Some(first) = messages.first().copied() else {
        return Ok(());
    };
    let Some(user) = first.from.as_ref().filter(|user| is_person(user)) else {
        return Ok(());
    };
    let is_for_us = messages
        .iter()
        .any(|message| is_addressed(adapter, message));
    if !is_for_us || first.is_automatic_forward {
        return Ok(());
    }
    let command = ChatCommand::parse(first.said());
    if !adapter.settings.access.may_use(user.id, first.chat.id) {
        return turn_away(adapter, first, user, command).await;
    }
    let answer = answer(adapter, group, first, user, command).await;
    let text = match answer {
        Ok(text) => text,
        Err(TelegramError::Service(Error::Service(refusal))) if is_for_user(&refusal) => {
            Some(RichText::plain(format!("❌ {refusal}")))
        }
        Err(error) => return Err(error),
    };
    match text {
        Some(text) => chat_answer::send(adapter, first.place(), reply(first, text)).await,
        None => Ok(()),
    }
}

/// Whether the user has to know of a refusal: they can correct the request, or it could be repeated only much later.
fn is_for_user(refusal: &ServiceError) -> bool {
    matches!(refusal.status, 400 | 404 | 409 | 413 | 422)
        || matches!(refusal.code(), Some("budget_exceeded" | "queue_full"))
}

/// Handles a message, and returns the text of the answer.
async fn answer(
    adapter: &Adapter,
    group: &UpdateGroup,
    message: &ChatMessage,
    user: &ChatUser,
    command: Option<ChatCommand>,
) -> Result<Option<RichText>, TelegramError> {
    if let Some(command) = command {
        return chat_action::run(adapter, group, message, &command).await;
    }
    if let Some(approval) = reason_for(adapter, message) {
        let text = tap::deny_because(adapter, message, user, approval).await?;
        return Ok(Some(RichText::plain(text)));
    }
    let messages = group.messages();
    let has_content = messages
        .iter()
        .any(|it| !it.said().is_empty() || it.file().is_some());
    if !has_content {
        let refusal = "I read text, photos, documents, voice messages, audio and video.";
        // Other messages without content are notices of the chat, for example that someone has joined.
        return Ok(message.is_unusable().then(|| RichText::plain(refusal)));
    }
    let prompt = prompt(&messages, &adapter.username);
    match start_job(adapter, group, JobTarget::Conversation, prompt).await? {
        Intake::Accepted => Ok(None),
        Intake::Refused(reason) => Ok(Some(RichText::plain(reason))),
    }
}

/// Returns the approval whose denial the message explains.
fn reason_for(
    adapter: &Adapter,
    message: &ChatMessage,
) -> Option<skillet_client::types::id::ApprovalId> {
    let question = message.reply_to_message.as_ref()?;
    let is_ours = question.from.as_ref()?.id == adapter.bot.id();
    let is_text = message.text.is_some();
    approval::asked_approval(question.said()).filter(|_| is_ours && is_text)
}

/// Whether a message is for the bot: every message in a private chat, and in a group those that name the bot or reply
/// to it.
fn is_addressed(adapter: &Adapter, message: &ChatMessage) -> bool {
    let said = message.said();
    let command_for = ChatCommand::parse(said).and_then(|command| command.bot);
    if let Some(bot) = command_for {
        return bot.eq_ignore_ascii_case(&adapter.username);
    }
    let replied = message.reply_to_message.as_ref();
    let replied = replied.filter(|it| Some(it.message_id) != message.message_thread_id);
    let author = replied.and_then(|it| it.from.as_ref());
    !message.place().is_group()
        || has_mention(said, &adapter.username)
        || author.is_some_and(|user| user.id == adapter.bot.id())
}

fn is_person(user: &ChatUser) -> bool {
    !user.is_bot || user.id == ANONYMOUS_ADMIN
}

/// Answers a user without access with an id and nothing else, or pairs the user if the code is valid. Only the answer
/// to the code is sent later if it has to wait.
async fn turn_away(
    adapter: &Adapter,
    message: &ChatMessage,
    user: &ChatUser,
    command: Option<ChatCommand>,
) -> Result<(), TelegramError> {
    let is_group = message.place().is_group();
    let code = command.filter(|it| it.name == "start" && !it.rest.is_empty() && !is_group);
    let paired = code.map(|command| adapter.settings.access.pair(user.id, &command.rest));
    if paired == Some(PairingResult::Paired) {
        let text = format!(
            "You are paired until the bot restarts. To keep access after that, start it with --allow {}. /help describes what I do.",
            user.id
        );
        let out = reply(message, RichText::plain(text));
        return chat_answer::send(adapter, message.place(), out).await;
    }
    let text = match is_group {
        true => format!("The id of this group is {}.", message.chat.id),
        false => format!("Your id is {}.", user.id),
    };
    let out = reply(message, RichText::plain(text));
    let sent = chat_answer::try_send(adapter, message.place(), &out).await;
    sent.map(drop)
}

fn reply(message: &ChatMessage, text: RichText) -> OutgoingText {
    OutgoingText::new(text).reply_to(message.message_id)
}
