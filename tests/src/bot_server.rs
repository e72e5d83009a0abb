//! A server of Telegram's Bot API, with people who write to the bot.
//!
//! It keeps the rules that a bot meets: long polling with one poller, confirmed updates, multipart files, the length
//! of texts and of button data, markup, "message is not modified", and the pace of messages. A call that breaks the
//! pace is refused with 429, as Telegram does, and noted as a violation.

mod call;
mod chat_log;
mod form;
mod http;
mod markup;
mod method;
mod pace;
mod people;
mod polling;
mod stage;
mod webhook;

use std::time::Duration;

use actix_web::web::Data;
use serde_json::Value;

pub use self::chat_log::{SentFile, ShownMessage};
use self::http::BotHttpServer;
pub use self::markup::MarkupRun;
pub use self::people::{Person, PersonMessage};
use self::stage::BotStage;
pub use self::stage::CallFault;

/// The token of the bot.
pub const TOKEN: &str = "4242:AAtest-token_of-the-bot";
/// The id of the bot.
pub const BOT: i64 = 4242;
/// The name of the bot.
pub const BOT_NAME: &str = "skillet_bot";

/// The longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(180);

/// A server of the Bot API. It listens until it is dropped.
pub struct BotServer {
    stage: Data<BotStage>,
    server: BotHttpServer,
}

impl BotServer {
    /// Listens on a free port of 127.0.0.1, on a thread of its own.
    pub fn start() -> Self {
        let stage = Data::new(BotStage::default());
        let server = BotHttpServer::start(stage.clone());
        Self { stage, server }
    }

    /// The address of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// A person writes to the bot. Returns the id of the message.
    pub fn write(&self, message: PersonMessage) -> i64 {
        let id = self.stage.write(message);
        self.stage.changed();
        id
    }

    /// A person taps the button with that label. Returns the id of the tap.
    ///
    /// # Panics
    ///
    /// If the message has no such button.
    pub fn tap(&self, person: &Person, chat: i64, message: i64, label: &str) -> String {
        let tap = self.stage.tap(person, chat, message, label);
        self.stage.changed();
        tap
    }

    /// A person taps a button that the message does not have, as a client can that does not play by the rules.
    pub fn tap_with(&self, person: &Person, chat: i64, message: i64, data: &str) -> String {
        let tap = self.stage.tap_with(person, chat, message, data);
        self.stage.changed();
        tap
    }

    /// The messages of a chat, in order, as they are now.
    pub fn messages(&self, chat: i64) -> Vec<ShownMessage> {
        self.stage.lock().chats.messages(chat)
    }

    /// The messages of the bot in a chat.
    pub fn sent(&self, chat: i64) -> Vec<ShownMessage> {
        let mut messages = self.messages(chat);
        messages.retain(|message| message.is_of_bot);
        messages
    }

    /// Waits until the bot has a message in the chat for which that is so, and returns it.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn wait_for(&self, chat: i64, is_so: impl Fn(&ShownMessage) -> bool) -> ShownMessage {
        let find = async {
            loop {
                let changed = self.stage.on_change();
                if let Some(found) = self.sent(chat).into_iter().find(&is_so) {
                    return found;
                }
                changed.await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, find).await;
        found.unwrap_or_else(|_| panic!("no such message: {:#?}", self.messages(chat)))
    }

    /// Waits until a call with that method has been made, after the first so many calls, and returns its fields.
    ///
    /// # Panics
    ///
    /// If that takes too long.
    pub async fn wait_for_call(&self, method: &str, after: usize) -> Value {
        let find = async {
            loop {
                let changed = self.stage.on_change();
                if let Some(found) = self.calls(method).get(after) {
                    return found.clone();
                }
                changed.await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, find).await;
        found.unwrap_or_else(|_| panic!("no call of {method}"))
    }

    /// The calls of a method, with their fields.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        let stage = self.stage.lock();
        let calls = stage.calls.iter().filter(|call| call.method == method);
        calls.map(|call| call.fields.clone()).collect()
    }

    /// The breaches of Telegram's rules.
    pub fn violations(&self) -> Vec<String> {
        self.stage.lock().violations.clone()
    }

    /// The updates that no request has confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.stage.lock().updates.len()
    }

    /// The next call of the method fails in this way.
    pub fn fail(&self, method: &'static str, fault: CallFault) {
        self.stage.lock().faults.push_back((method, fault));
    }

    /// Holds the call that changes a chat after the next so many, forever: before it has an effect, or after.
    pub fn freeze_at(&self, call: usize, has_effect: bool) {
        self.stage.lock().freeze = Some((call, has_effect));
        self.stage.lock().is_frozen = false;
    }

    /// Whether a call is held.
    pub fn is_frozen(&self) -> bool {
        self.stage.lock().is_frozen
    }

    /// Holds no call any more.
    pub fn thaw(&self) {
        let mut stage = self.stage.lock();
        stage.freeze = None;
        stage.is_frozen = false;
    }
}
