//! A scripted model server: a real HTTP server that supports both providers' wire formats and rejects every request
//! that a real provider would reject.
//!
//! Jobs that run in parallel share one server. Markers separate them: the script `abc` answers the requests whose
//! first user text contains `#abc`.
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
mod shared_state;
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
use self::shared_state::SharedState;

/// The scripted model server. It runs until it is dropped.
pub struct ModelServer {
    state: Data<SharedState>,
    server: Server,
}

impl ModelServer {
    /// Starts the server on a free port of 127.0.0.1. It has its own threads, so that tests with different runtimes
    /// can share it.
    pub fn start() -> Self {
        let state = Data::new(SharedState::default());
        let server = Server::start(state.clone());
        Self { state, server }
    }

    /// The value of `ANTHROPIC_BASE_URL`: `http://127.0.0.1:PORT`.
    pub fn base_url(&self) -> String {
        format!("http://{}", self.server.address())
    }

    /// The value of `OPENAI_BASE_URL`: `http://127.0.0.1:PORT/v1`.
    pub fn openai_base_url(&self) -> String {
        format!("{}/v1", self.base_url())
    }

    /// Answers each request marked `#marker` with the next of these replies. Further calls append replies.
    ///
    /// # Panics
    ///
    /// If the marker has characters other than letters, digits, `_` and `-`, or has a rule already.
    pub fn script(&self, marker: &str, replies: impl IntoIterator<Item = Reply>) {
        self.state.script(marker, replies.into_iter().collect());
    }

    /// Answers every request marked `#marker` with the result of `rule`. Several jobs may share the marker, even with
    /// the same prompt. The rule runs on the server's threads and must not block.
    ///
    /// # Panics
    ///
    /// If the marker has a script already, or characters other than letters, digits, `_` and `-`.
    pub fn script_with(
        &self,
        marker: &str,
        rule: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) {
        self.state.add(marker, Script::rule(rule));
    }

    /// Like `script_with`, but for the jobs of a conversation. Their requests may begin differently from earlier
    /// ones, for example with a summary or another system prompt, as long as all assistant messages are replies that
    /// the model gave.
    ///
    /// # Panics
    ///
    /// Same as [`script_with`](Self::script_with).
    pub fn script_conversation(
        &self,
        marker: &str,
        rule: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) {
        self.script_with(marker, rule);
        self.state.allow_new_beginning(marker);
    }

    /// Sets the delay of all replies that have no delay of their own.
    pub fn set_delay(&self, delay: Duration) {
        self.state.set_delay(delay);
    }

    /// The requests marked `#marker`, in order, including rejected ones. Only the latest requests are kept.
    pub fn requests(&self, marker: &str) -> Vec<Request> {
        self.state.requests(marker)
    }

    /// Deletes the script and the recorded requests of a marker.
    pub fn forget(&self, marker: &str) {
        self.state.forget(marker);
    }

    /// The number of scripted replies that are left; 0 for a rule.
    pub fn remaining(&self, marker: &str) -> usize {
        self.state.remaining(marker)
    }

    /// The violations found in requests, as sentences. Each of these requests was rejected with 400.
    pub fn violations(&self) -> Vec<String> {
        self.state.violations()
    }

    /// Waits until a [`Reply::stall`] has sent its first half.
    ///
    /// # Panics
    ///
    /// If that takes longer than ten seconds.
    pub async fn stalled(&self, marker: &str) {
        self.state.watcher(marker).stalled().await;
    }

    /// Lets the currently stalled replies continue.
    pub fn release(&self, marker: &str) {
        self.state.watcher(marker).release();
    }

    /// Waits until a client hangs up before its response is complete, and returns the time of the first hang-up.
    ///
    /// # Panics
    ///
    /// If that takes longer than ten seconds.
    pub async fn hung_up(&self, marker: &str) -> Instant {
        self.state.watcher(marker).hung_up().await
    }

    /// The times at which clients hung up before their response was complete.
    pub fn hang_ups(&self, marker: &str) -> Vec<Instant> {
        self.state.watcher(marker).hang_ups()
    }
}
