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
mod state;
mod webhook;

use std::time::Duration;

use actix_web::web::Data;
use serde_json::Value;

pub use self::chat_log::{SentFile, ShownMessage};
use self::http::BotHttpServer;
pub use self::markup::MarkupRun;
pub use self::people::{Person, PersonMessage};
pub use self::state::CallFault;
use self::state::SharedBotState;

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
    state: Data<SharedBotState>,
    server: BotHttpServer,
}

impl BotServer {
    /// Starts the server on a free port of 127.0.0.1, in its own thread.
    pub fn start() -> Self {
        let state = Data::new(SharedBotState::default());
        let server = BotHttpServer::start(state.clone());
        Self { state, server }
    }

    /// The address of the server.
    pub fn url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// Sends a message of a person to the bot. Returns the id of the message.
    pub fn write(&self, message: PersonMessage) -> i64 {
        let id = self.state.write(message);
        self.state.changed();
        id
    }

    /// Taps the first button whose label contains `label`, as a person. Returns the id of the tap.
    ///
    /// # Panics
    ///
    /// If the message has no such button.
    pub fn tap(&self, person: &Person, chat: i64, message: i64, label: &str) -> String {
        let tap = self.state.tap(person, chat, message, label);
        self.state.changed();
        tap
    }

    /// Taps a button that the message does not have, as a misbehaving client can. Returns the id of the tap.
    pub fn tap_with(&self, person: &Person, chat: i64, message: i64, data: &str) -> String {
        let tap = self.state.tap_with(person, chat, message, data);
        self.state.changed();
        tap
    }

    /// The current messages of a chat, in order.
    pub fn messages(&self, chat: i64) -> Vec<ShownMessage> {
        self.state.lock().chats.messages(chat)
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
                let changed = self.state.on_change();
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
                let changed = self.state.on_change();
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
        let state = self.state.lock();
        let calls = state.calls.iter().filter(|call| call.method == method);
        calls.map(|call| call.fields.clone()).collect()
    }

    /// The recorded violations of Telegram's rules.
    pub fn violations(&self) -> Vec<String> {
        self.state.lock().violations.clone()
    }

    /// The number of updates that no request has confirmed.
    pub fn unconfirmed(&self) -> usize {
        self.state.lock().updates.len()
    }

    /// Makes the next call of the method fail in the given way.
    pub fn fail(&self, method: &'static str, fault: CallFault) {
        self.state.lock().faults.push_back((method, fault));
    }

    /// Holds a chat-changing call forever, after letting `call` others pass. The call takes effect first if
    /// `has_effect`.
    pub fn freeze_at(&self, call: usize, has_effect: bool) {
        self.state.lock().freeze = Some((call, has_effect));
        self.state.lock().is_frozen = false;
    }

    /// Whether a call is being held.
    pub fn is_frozen(&self) -> bool {
        self.state.lock().is_frozen
    }

    /// Stops holding new calls.
    pub fn thaw(&self) {
        let mut state = self.state.lock();
        state.freeze = None;
        state.is_frozen = false;
    }
}
