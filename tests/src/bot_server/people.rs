//! Simulated people who write to the bot.

use serde_json::{Value, json};

use super::chat_log::{SentFile, ShownMessage};
use super::state::SharedBotState;

/// A person.
#[derive(Clone, Debug)]
pub struct Person {
    /// The user id, which is also the id of the private chat with the bot.
    pub id: i64,
    /// The first name.
    pub name: String,
}

/// A message from a person.
#[derive(Clone, Debug)]
pub struct PersonMessage {
    person: Person,
    chat: i64,
    text: String,
    file: Option<(String, String, Vec<u8>)>,
    reply_to: Option<i64>,
    thread: Option<i64>,
    more: Value,
}

impl Person {
    /// Creates a person.
    pub fn new(id: i64, name: &str) -> Self {
        Self {
            id,
            name: name.to_owned(),
        }
    }

    /// Creates a text message in the private chat.
    pub fn says(&self, text: &str) -> PersonMessage {
        PersonMessage {
            person: self.clone(),
            chat: self.id,
            text: text.to_owned(),
            file: None,
            reply_to: None,
            thread: None,
            more: json!({}),
        }
    }
}

impl PersonMessage {
    /// Sends the message to another chat.
    #[must_use]
    pub fn in_chat(self, chat: i64) -> Self {
        Self { chat, ..self }
    }

    /// Sends the message to a forum thread.
    #[must_use]
    pub fn in_thread(self, thread: i64) -> Self {
        Self {
            thread: Some(thread),
            ..self
        }
    }

    /// Makes the message a reply.
    #[must_use]
    pub fn replying_to(self, message: i64) -> Self {
        Self {
            reply_to: Some(message),
            ..self
        }
    }

    /// Adds a file of a kind such as `document`, `photo` or `voice`.
    #[must_use]
    pub fn with_file(self, kind: &str, name: &str, content: &[u8]) -> Self {
        let file = (kind.to_owned(), name.to_owned(), content.to_vec());
        Self {
            file: Some(file),
            ..self
        }
    }

    /// Adds other fields to the JSON object of the message.
    #[must_use]
    pub fn with(self, more: Value) -> Self {
        Self { more, ..self }
    }
}

impl SharedBotState {
    /// Adds the message to the chat and creates its update.
    pub(super) fn write(&self, message: PersonMessage) -> i64 {
        let mut inner = self.lock();
        let PersonMessage {
            person,
            chat,
            text,
            file,
            reply_to,
            thread,
            more,
        } = message;
        let shown = ShownMessage {
            author: person.name.clone(),
            author_id: person.id,
            text,
            reply_to,
            thread,
            file: file.as_ref().map(|(kind, name, content)| SentFile {
                kind: kind.clone(),
                name: name.clone(),
                content_type: String::new(),
                content: content.clone(),
            }),
            ..ShownMessage::default()
        };
        let id = inner.chats.add(chat, shown);
        let mut described = inner.chats.describe(chat, id);
        if let Some((kind, name, content)) = file {
            let file_id = format!("file-{id}");
            let size = content.len();
            inner.files.insert(file_id.clone(), (name.clone(), content));
            let file = json!({"file_id": file_id, "file_unique_id": file_id, "file_name": name, "file_size": size});
            described[kind.as_str()] = match kind.as_str() {
                "photo" => {
                    json!([{"file_id": "none", "file_size": 1}, {"file_id": file_id, "file_size": size}])
                }
                _ => file,
            };
        }
        if let Some(reply_to) = reply_to {
            let replied = inner.chats.describe(chat, reply_to);
            described["reply_to_message"] = replied;
        }
        let fields = described.as_object_mut().expect("a message is an object");
        fields.extend(more.as_object().cloned().unwrap_or_default());
        inner.add_update("message", described);
        id
    }

    /// Creates the update for a tap on the first button whose label contains `label`.
    pub(super) fn tap(&self, person: &Person, chat: i64, message: i64, label: &str) -> String {
        let data = {
            let inner = self.lock();
            let shown = inner
                .chats
                .get(chat, message)
                .expect("the message is there");
            let mut buttons = shown.buttons.iter().flatten();
            let button = buttons.find(|(text, _)| text.contains(label));
            button.expect("the message has the button").1.clone()
        };
        self.tap_with(person, chat, message, &data)
    }

    /// Creates the update for a tap with the given data.
    pub(super) fn tap_with(&self, person: &Person, chat: i64, message: i64, data: &str) -> String {
        let mut inner = self.lock();
        let message = inner.chats.describe(chat, message);
        let id = format!("tap-{}", inner.next_update);
        let from = json!({"id": person.id, "is_bot": false, "first_name": person.name});
        let tap =
            json!({"id": id, "from": from, "message": message, "chat_instance": "1", "data": data});
        inner.add_update("callback_query", tap);
        id
    }
}
