//! Settings of the adapter.

use std::net::SocketAddr;

use crate::access::Access;
use crate::token::BotToken;

/// The URL of Telegram's own Bot API server.
pub const BOT_API_URL: &str = "https://api.telegram.org";

/// The maximum sizes of files that a bot can receive and send through Telegram's own server, and through another one.
const PUBLIC_DOWNLOAD: u64 = 20_000_000;
const PUBLIC_UPLOAD: u64 = 50_000_000;
const LOCAL_FILE: u64 = 2_000_000_000;

/// Settings of the adapter.
pub struct TelegramSettings {
    /// The token of the bot.
    pub token: BotToken,
    /// The server of the Bot API.
    pub bot_api_url: String,
    /// The users and groups that may use the bot.
    pub access: Access,
    /// The agent of new conversations.
    pub agent: String,
    /// The models of all jobs, such as `script/bash`. If empty, the agent or the skill determines the models.
    pub models: Vec<String>,
    /// The URL of the service in links, without a trailing slash.
    pub link_url: String,
    /// The source of updates.
    pub source: UpdateSource,
}

/// The source of updates.
#[derive(Clone, Debug)]
pub enum UpdateSource {
    /// The bot polls Telegram.
    Polling,
    /// Telegram sends updates to a webhook.
    Webhook {
        /// The address to listen on, behind a proxy that terminates TLS.
        listen: SocketAddr,
        /// The public URL of the webhook.
        url: String,
    },
}

impl TelegramSettings {
    /// The largest file that the bot can receive, in bytes.
    pub(crate) fn max_download(&self) -> u64 {
        self.file_limit(PUBLIC_DOWNLOAD)
    }

    /// The largest file that the bot can send, in bytes.
    pub(crate) fn max_upload(&self) -> u64 {
        self.file_limit(PUBLIC_UPLOAD)
    }

    fn file_limit(&self, public: u64) -> u64 {
        match self.bot_api_url == BOT_API_URL {
            true => public,
            false => LOCAL_FILE,
        }
    }
}
