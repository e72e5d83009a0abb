//! Outgoing messages, sent within Telegram's rate limits and repeated until Telegram has them.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::Body;
use reqwest::multipart::{Form, Part};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::fs::File;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;
use tracing::warn;

use crate::bot::Bot;
use crate::bot_error::BotError;
use crate::pace::{BotPace, ChatPace, PaceClass};
use crate::place::{ChatPlace, is_group};
use crate::rich_text::RichText;

/// The pause after a failed call. Each further failure doubles it.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The number of failures after which a file is not sent. A text is sent with as many attempts as needed.
const MAX_FILE_FAILURES: u32 = 5;

/// The sender of messages.
pub(crate) struct Outbox {
    bot: Bot,
    chats: Mutex<HashMap<i64, Arc<AsyncMutex<ChatPace>>>>,
    all: Mutex<BotPace>,
    stop: CancellationToken,
}

/// A text for a chat.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingText {
    pub(crate) text: RichText,
    /// The message to which the text replies.
    pub(crate) reply_to: Option<i64>,
    /// Buttons, or the request for a reply.
    pub(crate) markup: Option<Value>,
}

/// A file for a chat.
#[derive(Clone, Debug)]
pub(crate) struct OutgoingFile {
    /// The method that shows the file best, and the name of its field.
    pub(crate) method: &'static str,
    pub(crate) field: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) name: String,
    pub(crate) content_type: String,
    pub(crate) reply_to: Option<i64>,
}

#[derive(Deserialize)]
struct SentMessage {
    message_id: i64,
}

impl OutgoingText {
    pub(crate) fn new(text: RichText) -> Self {
        Self {
            text,
            reply_to: None,
            markup: None,
        }
    }

    pub(crate) fn reply_to(self, message: i64) -> Self {
        Self {
            reply_to: Some(message),
            ..self
        }
    }

    pub(crate) fn markup(self, markup: Option<Value>) -> Self {
        Self { markup, ..self }
    }
}

impl Outbox {
    pub(crate) fn new(bot: Bot, stop: CancellationToken) -> Self {
        Self {
            bot,
            chats: Mutex::default(),
            all: Mutex::default(),
            stop,
        }
    }

    /// Sends a text, with as many attempts as needed, and returns the id of the message. An error means that Telegram
    /// refused the message or that the program is stopping.
    pub(crate) async fn send(&self, place: ChatPlace, out: &OutgoingText) -> Result<i64, BotError> {
        let body = message_body(place, out);
        let sent: SentMessage = self
            .send_body("sendMessage", place, body, &out.text)
            .await?;
        Ok(sent.message_id)
    }

    /// Sends a text with one attempt if the rate limits permit it now. Returns whether Telegram has accepted it.
    pub(crate) async fn try_send(
        &self,
        place: ChatPlace,
        out: &OutgoingText,
    ) -> Result<bool, BotError> {
        let body = message_body(place, out);
        self.try_call(place.chat, PaceClass::Message, "sendMessage", &body)
            .await
    }

    /// Edits a text, with as many attempts as needed.
    pub(crate) async fn edit(
        &self,
        place: ChatPlace,
        message: i64,
        out: &OutgoingText,
    ) -> Result<(), BotError> {
        let body = edit_body(place, message, out);
        let edited = self
            .send_body::<Value>("editMessageText", place, body, &out.text)
            .await;
        match edited {
            Err(error) if error.is_not_modified() => Ok(()),
            edited => edited.map(drop),
        }
    }

    /// Edits a text if the rate limits permit it now, or returns `false`.
    pub(crate) async fn try_edit(
        &self,
        place: ChatPlace,
        message: i64,
        out: &OutgoingText,
    ) -> Result<bool, BotError> {
        let body = edit_body(place, message, out);
        self.try_call(place.chat, PaceClass::Edit, "editMessageText", &body)
            .await
    }

    /// Sends a file. A transient error means that it failed too often.
    pub(crate) async fn send_file(
        &self,
        place: ChatPlace,
        file: &OutgoingFile,
    ) -> Result<(), BotError> {
        let call = |chat| async move {
            let form = file_form(ChatPlace { chat, ..place }, file).await?;
            self.bot.send_form::<Value>(file.method, form).await
        };
        self.call_at_pace(place.chat, MAX_FILE_FAILURES, call)
            .await
            .map(drop)
    }

    /// Answers a tap with a text that is shown briefly.
    pub(crate) async fn answer_tap(&self, tap: &str, text: &str) {
        let body = json!({"callback_query_id": tap, "text": text});
        // An old tap cannot be answered any more, but its action has been done.
        let _ = self.bot.call::<Value>("answerCallbackQuery", &body).await;
    }

    /// Shows the bot as typing.
    pub(crate) async fn show_typing(&self, place: ChatPlace) {
        let mut body = json!({"chat_id": place.chat, "action": "typing"});
        add_thread(&mut body, place);
        let _ = self.bot.call::<Value>("sendChatAction", &body).await;
    }

    /// Sends text, or plain text if Telegram refuses its markup.
    async fn send_body<T: serde::de::DeserializeOwned>(
        &self,
        method: &'static str,
        place: ChatPlace,
        body: Value,
        text: &RichText,
    ) -> Result<T, BotError> {
        let call = |body: Value| {
            self.call_at_pace(place.chat, u32::MAX, move |chat| {
                let mut body = body.clone();
                body["chat_id"] = chat.into();
                async move { self.bot.call::<T>(method, &body).await }
            })
        };
        match call(body.clone()).await {
            Err(error) if error.is_markup() => {
                warn!(%error, "Telegram refused the formatting; sending plain text");
                let mut plain = body;
                plain["text"] = text.plain_text().into();
                plain
                    .as_object_mut()
                    .map(|it| it.shift_remove("parse_mode"));
                call(plain).await
            }
            sent => sent,
        }
    }

    /// Makes a call once if no other call of the chat is in progress and the rate limits permit it now. Returns whether
    /// Telegram has accepted it.
    async fn try_call(
        &self,
        chat: i64,
        class: PaceClass,
        method: &'static str,
        body: &Value,
    ) -> Result<bool, BotError> {
        let lane = self.chat(chat);
        let Ok(mut pace) = lane.try_lock() else {
            return Ok(false);
        };
        if pace.ready_at(class, Instant::now()) > Instant::now() {
            return Ok(false);
        }
        sleep_until(self.take_turn()).await;
        let answer = self.bot.call::<Value>(method, body).await;
        pace.note(Instant::now());
        match answer {
            Ok(_) => Ok(true),
            Err(BotError::TooMany(wait)) => {
                pace.pause(Instant::now() + wait);
                Ok(false)
            }
            Err(error) if error.is_not_modified() => Ok(true),
            Err(error) if error.is_transient() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a call after the earlier calls of the chat, and repeats it until the answer is final or it has failed
    /// `max_failures` times. While Telegram cannot be reached, it is always repeated.
    async fn call_at_pace<T, F>(
        &self,
        chat: i64,
        max_failures: u32,
        call: impl Fn(i64) -> F,
    ) -> Result<T, BotError>
    where
        F: Future<Output = Result<T, BotError>>,
    {
        let lane = self.chat(chat);
        let mut pace = lane.lock().await;
        let mut id = chat;
        let mut failures = 0;
        loop {
            self.wait_until(pace.ready_at(PaceClass::Message, Instant::now()))
                .await?;
            self.wait_until(self.take_turn()).await?;
            let answer = call(id).await;
            pace.note(Instant::now());
            match answer {
                Err(BotError::TooMany(wait)) => pace.pause(Instant::now() + wait),
                Err(error)
                    if error.is_unreachable()
                        || error.is_transient() && failures + 1 < max_failures =>
                {
                    failures += 1;
                    warn!(%error, failures, "cannot send to a chat; trying again");
                    let pause = FIRST_PAUSE * 2_u32.saturating_pow(failures - 1).min(64);
                    self.wait_until(Instant::now() + pause.min(LONGEST_PAUSE))
                        .await?;
                }
                Err(error) if error.migrated_to().is_some_and(|new| new != id) => {
                    id = error.migrated_to().unwrap_or(id);
                }
                answer => return answer,
            }
        }
    }

    async fn wait_until(&self, at: Instant) -> Result<(), BotError> {
        tokio::select! {
            biased;
            () = self.stop.cancelled() => Err(BotError::Stopping),
            () = sleep_until(at) => Ok(()),
        }
    }

    fn take_turn(&self) -> Instant {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.take(Instant::now())
    }

    fn chat(&self, chat: i64) -> Arc<AsyncMutex<ChatPace>> {
        let mut chats = self.chats.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(AsyncMutex::new(ChatPace::new(is_group(chat))));
        chats.entry(chat).or_insert_with(new).clone()
    }
}

/// Pauses between two attempts, or until the program stops.
pub(crate) async fn pause(failures: u32, stop: &CancellationToken) {
    let pause = FIRST_PAUSE * 2_u32.saturating_pow(failures).min(64);
    tokio::select! {
        () = stop.cancelled() => {}
        () = sleep(pause.min(LONGEST_PAUSE)) => {}
    }
}

fn text_body(place: ChatPlace, text: &RichText) -> Value {
    let mut body = json!({
        "chat_id": place.chat,
        "text": text.html(),
        "parse_mode": "HTML",
        "link_preview_options": {"is_disabled": true},
    });
    add_thread(&mut body, place);
    body
}

fn message_body(place: ChatPlace, out: &OutgoingText) -> Value {
    let mut body = text_body(place, &out.text);
    add_reply(&mut body, out.reply_to);
    if let Some(markup) = &out.markup {
        body["reply_markup"] = markup.clone();
    }
    body
}

fn edit_body(place: ChatPlace, message: i64, out: &OutgoingText) -> Value {
    let mut body = text_body(place, &out.text);
    body["message_id"] = message.into();
    if let Some(markup) = &out.markup {
        body["reply_markup"] = markup.clone();
    }
    body
}

fn add_thread(body: &mut Value, place: ChatPlace) {
    if let Some(thread) = place.thread {
        body["message_thread_id"] = thread.into();
    }
}

fn add_reply(body: &mut Value, reply_to: Option<i64>) {
    if let Some(message) = reply_to {
        body["reply_parameters"] = reply_parameters(message);
    }
}

fn reply_parameters(message: i64) -> Value {
    json!({"message_id": message, "allow_sending_without_reply": true})
}

async fn file_form(place: ChatPlace, file: &OutgoingFile) -> Result<Form, BotError> {
    let content = File::open(&file.path).await.map_err(BotError::File)?;
    let size = content.metadata().await.map_err(BotError::File)?.len();
    let part = Part::stream_with_length(Body::from(content), size)
        .file_name(file.name.clone())
        .mime_str(&file.content_type);
    let part = part.map_err(BotError::connection)?;
    let mut form = Form::new().text("chat_id", place.chat.to_string());
    if let Some(thread) = place.thread {
        form = form.text("message_thread_id", thread.to_string());
    }
    if let Some(message) = file.reply_to {
        form = form.text("reply_parameters", reply_parameters(message).to_string());
    }
    Ok(form.part(file.field, part))
}
