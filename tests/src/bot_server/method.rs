//! The methods of the Bot API.

use serde_json::{Value, json};

use super::call::{BotCall, CallResult, bad_request, refused};
use super::chat_log::{SentFile, ShownMessage};
use super::markup::{self, MarkupRun};
use super::state::BotState;
use super::{BOT, BOT_NAME};

/// The longest text of a message in UTF-16 code units.
const MAX_TEXT: usize = 4096;
/// The largest data of a button in bytes.
const MAX_DATA: usize = 64;
/// The largest files that a bot can receive and send, in bytes.
const MAX_RECEIVED: usize = 20_000_000;
const MAX_SENT: usize = 50_000_000;
const NOT_MODIFIED: &str = "message is not modified: specified new message content and reply markup are exactly the same \
                            as a current content and reply markup of the message";

impl BotState {
    /// Performs a call.
    pub(super) fn perform(&mut self, call: &BotCall) -> CallResult {
        match call.method.as_str() {
            "getMe" => Ok(json!({
                "id": BOT, "is_bot": true, "first_name": "Skillet", "username": BOT_NAME,
                "can_join_groups": true, "can_read_all_group_messages": false, "supports_inline_queries": false,
            })),
            "setMyCommands" | "sendChatAction" | "answerCallbackQuery" => Ok(true.into()),
            "deleteWebhook" => {
                self.webhook = None;
                Ok(true.into())
            }
            "setWebhook" => {
                let url = call.text("url").unwrap_or_default().to_owned();
                let secret = call.text("secret_token").unwrap_or_default().to_owned();
                self.webhook = Some((url, secret)).filter(|(url, _)| !url.is_empty());
                Ok(true.into())
            }
            "sendMessage" => self.send_message(call),
            "editMessageText" => self.edit_message(call),
            "sendPhoto" | "sendDocument" | "sendAudio" | "sendVideo" => self.send_file(call),
            "getFile" => self.get_file(call),
            _ => Err(refused(404, "Not Found")),
        }
    }

    fn send_message(&mut self, call: &BotCall) -> CallResult {
        let (text, runs) = text_of(call)?;
        let markup = call.object("reply_markup");
        let message = ShownMessage {
            is_of_bot: true,
            text,
            runs,
            buttons: buttons(&markup)?,
            forces_reply: markup["force_reply"] == true,
            ..ShownMessage::default()
        };
        self.add(call, message)
    }

    fn edit_message(&mut self, call: &BotCall) -> CallResult {
        let (text, runs) = text_of(call)?;
        let buttons = buttons(&call.object("reply_markup"))?;
        let (chat, id) = (
            chat_of(call)?,
            call.number("message_id").unwrap_or_default(),
        );
        let missing = || bad_request("message to edit not found");
        let message = self.chats.get_mut(chat, id).ok_or_else(missing)?;
        if !message.is_of_bot {
            return Err(bad_request("message can't be edited"));
        }
        if message.runs == runs && message.buttons == buttons {
            return Err(bad_request(NOT_MODIFIED));
        }
        message.text = text;
        message.runs = runs;
        message.buttons = buttons;
        message.edits += 1;
        Ok(self.chats.describe(chat, id))
    }

    fn send_file(&mut self, call: &BotCall) -> CallResult {
        let kind = call.method.trim_start_matches("send").to_lowercase();
        let file = call.files.iter().find(|file| file.field == kind);
        let Some(file) = file else {
            return Err(bad_request(&format!("there is no {kind} in the request")));
        };
        if file.content.is_empty() {
            return Err(bad_request("file must be non-empty"));
        }
        if file.content.len() > MAX_SENT {
            return Err(refused(413, "Request Entity Too Large"));
        }
        let is_picture = ["\u{89}PNG", "\u{ff}\u{d8}\u{ff}", "RIFF"]
            .iter()
            .any(|magic| {
                let magic: Vec<u8> = magic.chars().map(|it| it as u8).collect();
                file.content.starts_with(&magic)
            });
        if kind == "photo" && !is_picture {
            return Err(bad_request("IMAGE_PROCESS_FAILED"));
        }
        let message = ShownMessage {
            is_of_bot: true,
            text: call.text("caption").unwrap_or_default().to_owned(),
            file: Some(SentFile {
                kind,
                name: file.name.clone(),
                content_type: file.content_type.clone(),
                content: file.content.clone(),
            }),
            ..ShownMessage::default()
        };
        self.add(call, message)
    }

    fn add(&mut self, call: &BotCall, message: ShownMessage) -> CallResult {
        let chat = chat_of(call)?;
        let reply = call.object("reply_parameters");
        let reply_to = reply["message_id"].as_i64();
        let is_there = reply_to.is_none_or(|id| self.chats.get(chat, id).is_some());
        if !is_there && reply["allow_sending_without_reply"] != true {
            return Err(bad_request("message to be replied not found"));
        }
        let thread = call.number("message_thread_id");
        let id = self.chats.add(
            chat,
            ShownMessage {
                reply_to: reply_to.filter(|_| is_there),
                thread,
                ..message
            },
        );
        Ok(self.chats.describe(chat, id))
    }

    fn get_file(&mut self, call: &BotCall) -> CallResult {
        let id = call.text("file_id").unwrap_or_default();
        let Some((_, content)) = self.files.get(id) else {
            return Err(bad_request("invalid file_id"));
        };
        if content.len() > MAX_RECEIVED {
            return Err(bad_request("file is too big"));
        }
        let size = content.len();
        Ok(
            json!({"file_id": id, "file_unique_id": id, "file_size": size, "file_path": format!("files/{id}")}),
        )
    }
}

fn chat_of(call: &BotCall) -> Result<i64, super::call::Refused> {
    call.number("chat_id")
        .ok_or_else(|| bad_request("chat_id is empty"))
}

/// The text of a call without its markup, and its runs.
fn text_of(call: &BotCall) -> Result<(String, Vec<MarkupRun>), super::call::Refused> {
    let text = call.text("text").unwrap_or_default();
    let runs = match call.text("parse_mode") {
        Some("HTML") => markup::parse(text)
            .map_err(|fault| bad_request(&format!("can't parse entities: {fault}")))?,
        _ => vec![MarkupRun {
            text: text.to_owned(),
            tags: Vec::new(),
        }],
    };
    let text: String = runs.iter().map(|run| run.text.as_str()).collect();
    if text.trim().is_empty() {
        return Err(bad_request("message text is empty"));
    }
    if text.encode_utf16().count() > MAX_TEXT {
        return Err(bad_request("message is too long"));
    }
    Ok((text, runs))
}

fn buttons(markup: &Value) -> Result<Vec<Vec<(String, String)>>, super::call::Refused> {
    let mut rows = Vec::new();
    for row in markup["inline_keyboard"].as_array().into_iter().flatten() {
        let mut buttons = Vec::new();
        for button in row.as_array().into_iter().flatten() {
            let data = button["callback_data"].as_str().unwrap_or_default();
            if !(1..=MAX_DATA).contains(&data.len()) {
                return Err(bad_request("BUTTON_DATA_INVALID"));
            }
            let text = button["text"].as_str().unwrap_or_default();
            buttons.push((text.to_owned(), data.to_owned()));
        }
        rows.push(buttons);
    }
    Ok(rows)
}
