//! The messages of all chats.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::markup::MarkupRun;
use super::{BOT, BOT_NAME};

/// A file that the bot sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFile {
    /// The method without `send`, in lower case, such as `photo`.
    pub kind: String,
    /// The file name.
    pub name: String,
    /// Its media type.
    pub content_type: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// A message as displayed in a chat.
#[derive(Clone, Debug, Default)]
pub struct ShownMessage {
    /// The message id.
    pub id: i64,
    /// Whether the bot sent the message.
    pub is_of_bot: bool,
    /// The name of the person who sent the message.
    pub author: String,
    /// The id of the person who sent the message.
    pub author_id: i64,
    /// The text without its formatting.
    pub text: String,
    /// The text as formatted runs.
    pub runs: Vec<MarkupRun>,
    /// The labels and data of the buttons, in rows.
    pub buttons: Vec<Vec<(String, String)>>,
    /// Whether the message asks for a reply (`force_reply`).
    pub forces_reply: bool,
    /// The id of the message that this one replies to.
    pub reply_to: Option<i64>,
    /// The id of the forum thread.
    pub thread: Option<i64>,
    /// The file of the message.
    pub file: Option<SentFile>,
    /// The number of edits.
    pub edits: usize,
}

/// The messages of all chats.
#[derive(Default)]
pub(super) struct ChatLog {
    messages: BTreeMap<(i64, i64), ShownMessage>,
    last: i64,
}

impl ChatLog {
    /// Adds a message and returns its id.
    pub(super) fn add(&mut self, chat: i64, message: ShownMessage) -> i64 {
        self.last += 1;
        let id = self.last;
        self.messages
            .insert((chat, id), ShownMessage { id, ..message });
        id
    }

    pub(super) fn messages(&self, chat: i64) -> Vec<ShownMessage> {
        let messages = self.messages.range((chat, i64::MIN)..=(chat, i64::MAX));
        messages.map(|(_, message)| message.clone()).collect()
    }

    pub(super) fn get(&self, chat: i64, message: i64) -> Option<&ShownMessage> {
        self.messages.get(&(chat, message))
    }

    pub(super) fn get_mut(&mut self, chat: i64, message: i64) -> Option<&mut ShownMessage> {
        self.messages.get_mut(&(chat, message))
    }

    /// The message as a JSON object of the Bot API.
    pub(super) fn describe(&self, chat: i64, message: i64) -> Value {
        let Some(shown) = self.get(chat, message) else {
            return Value::Null;
        };
        let mut described = json!({
            "message_id": shown.id,
            "date": 1_767_225_600,
            "chat": describe_chat(chat),
            "from": match shown.is_of_bot {
                true => json!({"id": BOT, "is_bot": true, "first_name": "Skillet", "username": BOT_NAME}),
                false => json!({"id": shown.author_id, "is_bot": false, "first_name": shown.author}),
            },
        });
        let field = if shown.file.is_some() {
            "caption"
        } else {
            "text"
        };
        described[field] = shown.text.clone().into();
        if let Some(thread) = shown.thread {
            described["message_thread_id"] = thread.into();
            described["is_topic_message"] = true.into();
        }
        described
    }
}

/// The chat as a JSON object of the Bot API.
pub(super) fn describe_chat(chat: i64) -> Value {
    match chat < 0 {
        true => json!({"id": chat, "type": "supergroup", "title": "Team"}),
        false => json!({"id": chat, "type": "private", "first_name": "Ann"}),
    }
}
