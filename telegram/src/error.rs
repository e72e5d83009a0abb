//! The errors of the adapter.

use crate::bot_error::BotError;

/// The reason why the adapter ends, or why an update cannot be handled.
#[derive(Debug, thiserror::Error)]
pub enum TelegramError {
    /// The service refused a request, or cannot be reached.
    #[error(transparent)]
    Service(#[from] skillet_client::Error),
    /// Telegram refused a call, or cannot be reached.
    #[error(transparent)]
    Bot(#[from] BotError),
    /// Telegram does not know the token.
    #[error(
        "Telegram does not accept the token of the bot: check SKILLET_TELEGRAM_TOKEN, or ask @BotFather for another"
    )]
    WrongToken,
    /// Another process receives the updates of this bot.
    #[error(
        "another process receives the updates of this bot: stop it, or give each process a bot of its own"
    )]
    AnotherProcess,
    /// The server of the webhook cannot be started.
    #[error("cannot listen for the webhook on {address}")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// A temporary file cannot be written.
    #[error("cannot write a temporary file")]
    Temporary(#[source] std::io::Error),
}

impl TelegramError {
    /// Whether handling the same update again may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Service(error) => error.is_transient(),
            Self::Bot(error) => error.is_transient(),
            _ => false,
        }
    }

    /// Whether the adapter must end.
    pub(crate) fn is_fatal(&self) -> bool {
        match self {
            Self::Service(skillet_client::Error::Service(refusal)) => {
                matches!(refusal.status, 401 | 403)
            }
            Self::Bot(error) => error.is_wrong_token(),
            Self::WrongToken | Self::AnotherProcess | Self::Listen { .. } => true,
            _ => false,
        }
    }

    pub(crate) fn is_stopping(&self) -> bool {
        matches!(self, Self::Bot(BotError::Stopping))
    }
}
