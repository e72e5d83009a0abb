//! Updates, as Telegram sends them to a bot.

use serde::Deserialize;

use crate::place::{ChatPlace, is_group};

/// An update, which has a message or a callback query.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct BotUpdate {
    pub(crate) update_id: i64,
    pub(crate) message: Option<ChatMessage>,
    pub(crate) callback_query: Option<ButtonTap>,
}

/// A message.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ChatMessage {
    pub(crate) message_id: i64,
    pub(crate) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(crate) is_topic_message: bool,
    #[serde(default)]
    pub(crate) is_automatic_forward: bool,
    pub(crate) from: Option<ChatUser>,
    pub(crate) chat: Chat,
    pub(crate) text: Option<String>,
    #[serde(default)]
    pub(crate) entities: Vec<TextEntity>,
    pub(crate) caption: Option<String>,
    #[serde(default)]
    pub(crate) caption_entities: Vec<TextEntity>,
    pub(crate) media_group_id: Option<String>,
    pub(crate) reply_to_message: Option<Box<ChatMessage>>,
    pub(crate) quote: Option<QuotedText>,
    pub(crate) forward_origin: Option<ForwardOrigin>,
    #[serde(default)]
    pub(crate) photo: Vec<ChatFile>,
    pub(crate) document: Option<ChatFile>,
    pub(crate) voice: Option<ChatFile>,
    pub(crate) audio: Option<ChatFile>,
    pub(crate) video: Option<ChatFile>,
    pub(crate) video_note: Option<ChatFile>,
    pub(crate) animation: Option<ChatFile>,
    pub(crate) sticker: Option<serde::de::IgnoredAny>,
    pub(crate) contact: Option<serde::de::IgnoredAny>,
    pub(crate) location: Option<serde::de::IgnoredAny>,
    pub(crate) poll: Option<serde::de::IgnoredAny>,
    pub(crate) dice: Option<serde::de::IgnoredAny>,
    pub(crate) story: Option<serde::de::IgnoredAny>,
}

/// A person or a bot.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ChatUser {
    pub(crate) id: i64,
    #[serde(default)]
    pub(crate) is_bot: bool,
    #[serde(default)]
    pub(crate) first_name: String,
    pub(crate) last_name: Option<String>,
    pub(crate) username: Option<String>,
}

/// A chat.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Chat {
    pub(crate) id: i64,
    pub(crate) title: Option<String>,
}

/// A part of a text with a format. Offsets are in UTF-16 units.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TextEntity {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) offset: usize,
    pub(crate) length: usize,
    pub(crate) url: Option<String>,
    pub(crate) language: Option<String>,
}

/// The part of a message that a reply quotes.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct QuotedText {
    pub(crate) text: String,
}

/// The author of a forwarded message. One of the fields is set.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ForwardOrigin {
    sender_user: Option<ChatUser>,
    sender_user_name: Option<String>,
    sender_chat: Option<Chat>,
    chat: Option<Chat>,
}

/// A file of a message. A photo has no name and no type.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ChatFile {
    pub(crate) file_id: String,
    pub(crate) file_name: Option<String>,
    pub(crate) file_size: Option<u64>,
}

/// A tap on a button.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ButtonTap {
    pub(crate) id: String,
    pub(crate) from: ChatUser,
    pub(crate) message: Option<TappedMessage>,
    pub(crate) data: Option<String>,
}

/// The message of a button. Telegram leaves out all other fields if the message is old.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct TappedMessage {
    pub(crate) message_id: i64,
    pub(crate) chat: Chat,
    pub(crate) message_thread_id: Option<i64>,
    #[serde(default)]
    pub(crate) is_topic_message: bool,
}

impl ChatMessage {
    pub(crate) fn place(&self) -> ChatPlace {
        place(self.chat.id, self.is_topic_message, self.message_thread_id)
    }

    /// Returns the text or the caption.
    pub(crate) fn said(&self) -> &str {
        let text = self.text.as_deref().or(self.caption.as_deref());
        text.unwrap_or_default()
    }

    pub(crate) fn said_entities(&self) -> &[TextEntity] {
        match self.text {
            Some(_) => &self.entities,
            None => &self.caption_entities,
        }
    }

    /// Returns the file, with a default name in case its sender gave it none.
    pub(crate) fn file(&self) -> Option<(&ChatFile, &'static str)> {
        let size = |file: &&ChatFile| file.file_size;
        let photo = self.photo.iter().max_by_key(size);
        let files = [
            (photo, "photo.jpg"),
            (self.voice.as_ref(), "voice.ogg"),
            (self.audio.as_ref(), "audio.mp3"),
            (self.video.as_ref(), "video.mp4"),
            (self.video_note.as_ref(), "video.mp4"),
            (self.animation.as_ref(), "animation.mp4"),
            (self.document.as_ref(), "file"),
        ];
        let mut files = files.into_iter();
        files.find_map(|(file, name)| Some((file?, name)))
    }

    /// Whether the message has content of a kind that no job can use.
    pub(crate) fn is_unusable(&self) -> bool {
        self.sticker.is_some()
            || self.contact.is_some()
            || self.location.is_some()
            || self.poll.is_some()
            || self.dice.is_some()
            || self.story.is_some()
    }
}

impl TappedMessage {
    pub(crate) fn place(&self) -> ChatPlace {
        place(self.chat.id, self.is_topic_message, self.message_thread_id)
    }
}

/// Returns the place of a message. Only forums have real threads. In other groups, replies create threads that are not
/// visible.
fn place(chat: i64, is_topic: bool, thread: Option<i64>) -> ChatPlace {
    let thread = thread.filter(|_| is_topic && is_group(chat));
    ChatPlace { chat, thread }
}

impl ChatUser {
    pub(crate) fn name(&self) -> String {
        let last = self.last_name.as_deref().unwrap_or_default();
        format!("{} {last}", self.first_name).trim().to_owned()
    }
}

impl ForwardOrigin {
    pub(crate) fn name(&self) -> String {
        let user = self.sender_user.as_ref().map(ChatUser::name);
        let chat = self.sender_chat.as_ref().or(self.chat.as_ref());
        let title = || chat.and_then(|chat| chat.title.clone());
        let name = user.or_else(|| self.sender_user_name.clone());
        name.or_else(title).unwrap_or_default()
    }
}
