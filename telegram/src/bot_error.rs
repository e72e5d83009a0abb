//! Errors of the Bot API.

use std::time::Duration;

use serde::Deserialize;

/// A failed call of the Bot API. No error contains the token, which is in the URL of every call.
#[derive(Debug, thiserror::Error)]
pub enum BotError {
    /// There was no answer.
    #[error("cannot reach the Bot API")]
    Connection(#[source] reqwest::Error),
    /// The answer is not from the Bot API, but for example from a proxy.
    #[error(
        "the answer to {method} has status {status} and is not from the Bot API: check --bot-api-url"
    )]
    Answer {
        /// The method that was called.
        method: &'static str,
        /// The HTTP status.
        status: u16,
    },
    /// Telegram asks to wait.
    #[error("Telegram asks to wait {} s", .0.as_secs())]
    TooMany(Duration),
    /// Telegram refused the call.
    #[error("Telegram refused {method}: {} ({})", .refusal.description, .refusal.error_code)]
    Refused {
        /// The method that was called.
        method: &'static str,
        /// The refusal.
        refusal: BotRefusal,
    },
    /// A file of this machine cannot be read.
    #[error("cannot read a file")]
    File(#[source] std::io::Error),
    /// The program is stopping, and the call was not made.
    #[error("the program is stopping")]
    Stopping,
}

/// A refusal of the Bot API.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct BotRefusal {
    /// The error code, like an HTTP status.
    #[serde(default)]
    pub error_code: u16,
    /// The description, for people.
    #[serde(default)]
    pub description: String,
    /// Details for handling the refusal.
    #[serde(default)]
    pub parameters: RefusalParameters,
}

/// Details for handling a refusal.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct RefusalParameters {
    /// Seconds to wait before the next call.
    pub retry_after: Option<u64>,
    /// The new id of the group.
    pub migrate_to_chat_id: Option<i64>,
}

impl BotError {
    pub(crate) fn connection(error: reqwest::Error) -> Self {
        Self::Connection(error.without_url())
    }

    /// Whether the same call may succeed later.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Connection(_) | Self::TooMany(_) => true,
            Self::Answer { status, .. } => *status >= 500,
            Self::Refused { refusal, .. } => refusal.error_code >= 500,
            Self::File(_) | Self::Stopping => false,
        }
    }

    /// Whether no connection could be established, so that Telegram did not receive the call.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Connection(error) if error.is_connect())
    }

    /// Whether another process receives the updates of this bot.
    pub(crate) fn is_conflict(&self) -> bool {
        self.code() == Some(409)
    }

    /// Whether the token is not valid.
    pub(crate) fn is_wrong_token(&self) -> bool {
        matches!(self.code(), Some(401 | 404))
    }

    /// Whether an edit was refused because the message already has this content.
    pub(crate) fn is_not_modified(&self) -> bool {
        self.says("message is not modified")
    }

    /// Whether a text was refused because its markup is not valid.
    pub(crate) fn is_markup(&self) -> bool {
        self.says("can't parse entities")
    }

    /// The new id of a group that became a supergroup.
    pub(crate) fn migrated_to(&self) -> Option<i64> {
        match self {
            Self::Refused { refusal, .. } => refusal.parameters.migrate_to_chat_id,
            _ => None,
        }
    }

    fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal.error_code),
            _ => None,
        }
    }

    fn says(&self, text: &str) -> bool {
        match self {
            Self::Refused { refusal, .. } => refusal.description.contains(text),
            _ => false,
        }
    }
}
