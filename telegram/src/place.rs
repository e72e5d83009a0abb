//! The place of a conversation: a chat, or a thread of a forum.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A chat, and a thread in it if it is a forum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct ChatPlace {
    pub(crate) chat: i64,
    pub(crate) thread: Option<i64>,
}

impl ChatPlace {
    /// Whether several people may read the messages. The ids of groups are negative.
    pub(crate) fn is_group(self) -> bool {
        is_group(self.chat)
    }
}

/// Whether the chat is a group.
pub(crate) fn is_group(chat: i64) -> bool {
    chat < 0
}

impl fmt::Display for ChatPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.chat)?;
        match self.thread {
            Some(thread) => write!(f, "/{thread}"),
            None => Ok(()),
        }
    }
}

impl From<ChatPlace> for String {
    fn from(place: ChatPlace) -> Self {
        place.to_string()
    }
}

impl TryFrom<String> for ChatPlace {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl FromStr for ChatPlace {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (chat, thread) = match text.split_once('/') {
            Some((chat, thread)) => (chat, Some(thread.parse()?)),
            None => (text, None),
        };
        let chat = chat.parse()?;
        Ok(Self { chat, thread })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        for (chat, thread, text) in [(7, None, "7"), (-100, Some(5), "-100/5")] {
            let place = ChatPlace { chat, thread };
            assert_eq!(place.to_string(), text);
            assert_eq!(text.parse(), Ok(place));
        }
        assert!("x".parse::<ChatPlace>().is_err());
    }
}
