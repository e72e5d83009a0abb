//! A server of Telegram's Bot API, and simulated people who write to the bot.
//!
//! The server enforces the rules that a bot must follow: long polling with one poller, confirmed updates, multipart
//! files, the length of texts and of button data, markup, "message is not modified", and rate limits. Like Telegram,
//! it rejects calls that exceed a rate limit with 429. It also records them as violations.

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

/// The longest wait for any expected change.
const TIMEOUT: Duration = Duration::from_secs(180);

/// A server of the Bot API. It runs until it is dropped.
pub struct BotServer {
    stage: Data<BotStage>,
    server: BotHttpServer,
}

impl BotServer {
    /// Starts the server on a free port of 127.0.0.1, in its own thread.
    pub fn start() -> Self {
        let stage = Data::new(BotStage::default());
        let server = BotHttpServer::start(stage.clone());
        Self { stage, server }
    }

    /// The address of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Sends a message of a person to the bot. Returns the id of the message.
    pub fn write(&self, message: PersonMessage) -> i64 {
        let id = self.stage.write(message);
        self.stage.changed();
        id
    }

    /// Taps the first button whose label contains `label`, as a person. Returns the id of the tap.
    ///
    /// # Panics
    ///
    /// If the message has no such button.
    pub fn tap(&self, person: &Person, chat: i64, message: i64, label: &str) -> String {
        let tap = self.stage.tap(person, chat, message, label);
        self.stage.changed();
        tap
    }

    /// Taps a button that the message does not have, as a misbehaving client can. Returns the id of the tap.
    pub fn tap_with(&self, person: &Person, chat: i64, message: i64, data: &str) -> String {
        let tap = self.stage.tap_with(person, chat, message, data);
        self.stage.changed();
        tap
    }

    /// The current messages of a chat, in order.
    pub fn messages(&self, chat: i64) -> Vec<ShownMessage> {
        self.stage.lock().chats.messages(chat)
    }

    /// The messages that the bot sent to a chat.
    pub fn sent(&self, chat: i64) -> Vec<ShownMessage> {
        let mut messages = self.messages(chat);
        messages.retain(|message| message.is_of_bot);
        messages
    }

    /// Waits for a message of the bot in the chat that matches the predicate, and returns it.
    ///
    /// # Panics
    ///
    /// If no such message appears in time.
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
        let found = tokio::time::timeout(TIMEOUT, find).await;
        found.unwrap_or_else(|_| panic!("no such message: {:#?}", self.messages(chat)))
    }

    /// Waits for a call of the method, skipping the first `after` calls, and returns the fields of the call.
    ///
    /// # Panics
    ///
    /// If no such call arrives in time.
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
        let found = tokio::time::timeout(TIMEOUT, find).await;
        found.unwrap_or_else(|_| panic!("no call of {method}"))
    }

    /// The fields of all calls of a method.
    pub fn calls(&self, method: &str) -> Vec<Value> {
        let stage = self.stage.lock();
        let calls = stage.calls.iter().filter(|call| call.method == method);
        calls.map(|call| call.fields.clone()).collect()
    }

    /// The recorded violations of Telegram's rules.
    pub fn violations(&self) -> Vec<String> {
        self.stage.lock().violations.clone()
    }

    /// The number of updates that no request has confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.stage.lock().updates.len()
    }

    /// Makes the next call of the method fail in the given way.
    pub fn fail(&self, method: &'static str, fault: CallFault) {
        self.stage.lock().faults.push_back((method, fault));
    }

    /// Holds a chat-changing call forever, after letting `call` others pass. The call takes effect first if
    /// `has_effect`.
    pub fn freeze_at(&self, call: usize, has_effect: bool) {
        self.stage.lock().freeze = Some((call, has_effect));
        self.stage.lock().is_frozen = false;
    }

    /// Whether a call is being held.
    pub fn is_frozen(&self) -> bool {
        self.stage.lock().is_frozen
    }

    /// Stops holding new calls.
    pub fn thaw(&self) {
        let mut stage = self.stage.lock();
        stage.freeze = None;
        stage.is_frozen = false;
    }
}
