//! A model that says what a test tells it to: a real HTTP server that speaks both providers' wire
//! formats, and that refuses every request a real provider would refuse.
//!
//! Jobs that run in parallel share one server. What keeps them apart is a marker: the script `abc`
//! answers the requests whose first user text contains `#abc`.
//!
//! ```no_run
//! use serde_json::json;
//! use tests::model_server::{ModelServer, Reply};
//!
//! let model = ModelServer::start();
//! model.script("abc", [
//!     Reply::text("I will look.").then_call("shell.exec", json!({"command": "ls"})),
//!     Reply::status(429).retry_after(1),
//!     Reply::text("Nothing there."),
//! ]);
//! // … run a job with the prompt "List the files #abc" against model.base_url() …
//! assert_eq!(model.violations(), [""; 0]);
//! assert_eq!(model.requests("abc").len(), 3);
//! ```

mod anthropic;
mod chunk;
mod conversation;
mod fault;
mod given;
mod history;
mod http;
mod openai;
mod provider;
mod reply;
mod request;
mod result_image;
mod stage;
mod stream;
mod strict;
mod watcher;
mod wire;

#[cfg(test)]
mod tests;

use std::time::{Duration, Instant};

use actix_web::web::Data;

use self::conversation::Script;
use self::http::Server;
pub use self::provider::Provider;
pub use self::reply::Reply;
pub use self::request::Request;
use self::stage::Stage;

/// The scripted model. It listens until it is dropped.
pub struct ModelServer {
    stage: Data<Stage>,
    server: Server,
}

impl ModelServer {
    /// Listens on a free port of 127.0.0.1, on threads of its own, so that tests with different
    /// runtimes can share it.
    pub fn start() -> Self {
        let stage = Data::new(Stage::default());
        let server = Server::start(stage.clone());
        Self { stage, server }
    }

    /// The value for `ANTHROPIC_BASE_URL`: `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// The value for `OPENAI_BASE_URL`: `http://127.0.0.1:PORT/v1`.
    pub fn openai_base_url(&self) -> String {
        format!("{}/v1", self.base_url())
    }

    /// Answers the requests marked `#marker` with these replies, one each. Further calls append.
    ///
    /// # Panics
    ///
    /// If the marker has characters other than letters, digits, `_` and `-`, or has a rule already.
    pub fn script(&self, marker: &str, replies: impl IntoIterator<Item = Reply>) {
        self.stage.script(marker, replies.into_iter().collect());
    }

    /// Answers every request marked `#marker` with what `rule` says. Several jobs may share the
    /// marker, even with the same prompt. The rule runs on the server's threads: it may not block.
    ///
    /// # Panics
    ///
    /// If the marker has a script already, or characters other than letters, digits, `_` and `-`.
    pub fn script_with(
        &self,
        marker: &str,
        rule: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) {
        self.stage.add(marker, Script::rule(rule));
    }

    /// The same for the jobs of a conversation: their requests may begin in another way than those before, with
    /// a summary or another system prompt, if what they hand back are replies that the model gave.
    ///
    /// # Panics
    ///
    /// As [`script_with`](Self::script_with).
    pub fn script_conversation(
        &self,
        marker: &str,
        rule: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) {
        self.script_with(marker, rule);
        self.stage.begin_anew(marker);
    }

    /// Pauses this long before every answer that has no delay of its own.
    pub fn set_delay(&self, delay: Duration) {
        self.stage.set_delay(delay);
    }

    /// The requests marked `#marker` as received and in order, refused ones included; of very many
    /// only the latest.
    pub fn requests(&self, marker: &str) -> Vec<Request> {
        self.stage.requests(marker)
    }

    /// Forgets the script and all that was asked under its marker.
    pub fn forget(&self, marker: &str) {
        self.stage.forget(marker);
    }

    /// How many of the scripted replies are still to be given; 0 for a rule.
    pub fn remaining(&self, marker: &str) -> usize {
        self.stage.remaining(marker)
    }

    /// What was wrong with the requests, in sentences. Each of them was answered with 400.
    pub fn violations(&self) -> Vec<String> {
        self.stage.violations()
    }

    /// Waits until a [`Reply::stall`] has said all it says.
    ///
    /// # Panics
    ///
    /// If that does not happen within ten seconds.
    pub async fn stalled(&self, marker: &str) {
        self.stage.watcher(marker).stalled().await;
    }

    /// Lets the replies that are stalled now go on to their end.
    pub fn release(&self, marker: &str) {
        self.stage.watcher(marker).release();
    }

    /// Waits until a client has hung up before its answer was complete, and says when the first did.
    ///
    /// # Panics
    ///
    /// If that does not happen within ten seconds.
    pub async fn hung_up(&self, marker: &str) -> Instant {
        self.stage.watcher(marker).hung_up().await
    }

    /// When clients hung up before their answer was complete.
    pub fn hang_ups(&self, marker: &str) -> Vec<Instant> {
        self.stage.watcher(marker).hang_ups()
    }
}
