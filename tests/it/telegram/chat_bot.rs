//! A service with a Telegram bot.

use std::path::PathBuf;

use reqwest::Method;
use serde_json::{Value, json};
use tests::bot_server::{BotServer, Person, ShownMessage, TOKEN};

use crate::support::process::{self, Process};
use crate::support::{Service, WAIT_AT_GATE, bash, open_gates, send, until};

/// An image of one pixel, in base64.
pub(super) const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";
/// A group that may use the bot.
pub(super) const GROUP: i64 = -1_001_234;

/// A service, a Bot API server, and the bot between them.
pub(super) struct ChatBot {
    pub(super) service: Service,
    pub(super) telegram: BotServer,
    pub(super) process: Process,
    environment: Vec<(String, String)>,
}

impl ChatBot {
    /// Starts a bot for the users 1 to 99 and the group. Its agent `runner` runs the commands of prompts. The agent
    /// `careful` asks for approval first.
    pub(super) async fn start() -> Self {
        Self::with(&[]).await
    }

    /// Like [`Self::start`], with more variables.
    pub(super) async fn with(more: &[(&str, &str)]) -> Self {
        let service = Service::start().await;
        for (name, confirm) in [("runner", vec![]), ("careful", vec!["shell.exec"])] {
            let agent = json!({
                "soul": "I run.", "tools": ["shell.exec", "set_output"], "hooks": {"confirm": confirm},
            });
            let put = service.request(Method::PUT, &format!("/v1/agents/{name}"));
            assert_eq!(send(put.json(&agent)).await.0, 201);
        }
        let telegram = BotServer::start();
        let users: Vec<_> = (1..100).map(|id| id.to_string()).collect();
        let mut environment = vec![
            ("SKILLET_URL".to_owned(), service.url.clone()),
            ("SKILLET_API_KEY".to_owned(), service.key.clone()),
            ("SKILLET_TELEGRAM_TOKEN".to_owned(), TOKEN.to_owned()),
            ("SKILLET_TELEGRAM_API_URL".to_owned(), telegram.url()),
            (
                "SKILLET_TELEGRAM_ALLOW".to_owned(),
                format!("{},{GROUP}", users.join(",")),
            ),
            (
                "SKILLET_TELEGRAM_MODEL".to_owned(),
                "script/bash".to_owned(),
            ),
            ("SKILLET_TELEGRAM_AGENT".to_owned(), "runner".to_owned()),
        ];
        for (name, value) in more {
            environment.retain(|(it, _)| it != name);
            environment.push(((*name).to_owned(), (*value).to_owned()));
        }
        let log = service.home.path().join("telegram.log");
        let process = process::start(&["telegram"], &environment, &log);
        let mut bot = Self {
            service,
            telegram,
            process,
            environment,
        };
        bot.await_ready();
        bot
    }

    /// Starts another process of the same bot.
    pub(super) fn start_process(&self) -> Process {
        process::start(&["telegram"], &self.environment, &self.log_path())
    }

    /// Restarts the bot after its end.
    pub(super) fn restart(&mut self) {
        self.process = self.start_process();
        self.await_ready();
    }

    /// Returns the log of the bot.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(self.log_path()).unwrap()
    }

    /// Returns the jobs of a chat, the newest first.
    pub(super) async fn jobs(&self, chat: i64) -> Vec<Value> {
        self.jobs_of(&chat.to_string()).await
    }

    /// Returns the jobs of a chat or a thread, the newest first.
    pub(super) async fn jobs_of(&self, place: &str) -> Vec<Value> {
        let path = format!("/v1/jobs?metadata.place={place}&limit=100");
        let (_, jobs) = self.service.get(&path).await;
        jobs["data"].as_array().unwrap().clone()
    }

    /// Lets the commands of all jobs continue until the newest job of a chat has ended.
    pub(super) async fn open_gates(&self, chat: i64) {
        until(async || {
            open_gates(&self.service, 0);
            self.jobs(chat).await[0]["status"] == "completed"
        })
        .await;
    }

    /// Waits until everything about the jobs of a chat is sent.
    pub(super) async fn settled(&self, chat: i64) {
        let is_settled = async || {
            let jobs = self.jobs(chat).await;
            !jobs.is_empty() && jobs.iter().all(|job| job["metadata"]["open"].is_null())
        };
        until(is_settled).await;
    }

    fn log_path(&self) -> PathBuf {
        self.service.home.path().join("telegram.log")
    }

    fn await_ready(&mut self) {
        let line = self.process.first_line();
        assert_eq!(
            line,
            "the bot is https://t.me/skillet_bot",
            "{}",
            self.log()
        );
    }
}

/// Returns a user of the bot.
pub(super) fn ann(id: i64) -> Person {
    Person::new(id, "Ann")
}

/// Returns a prompt with one command that creates an output.
pub(super) fn making(command: &str, output: &str) -> String {
    format!("{}\noutput: {output}", bash(command))
}

/// Returns a prompt with a command that runs when the gates are open.
pub(super) fn gated(command: &str) -> String {
    bash(&format!("{WAIT_AT_GATE}; {command}"))
}

/// Whether the message belongs to a job whose command is running.
pub(super) fn is_running(message: &ShownMessage) -> bool {
    message.text.starts_with("⏳ ") && message.text.contains("⚙ shell.exec")
}

/// Returns the texts of the messages.
pub(super) fn texts(messages: &[ShownMessage]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message.text.as_str())
        .collect()
}

/// Whether the message belongs to a completed job.
pub(super) fn is_done(message: &ShownMessage) -> bool {
    message.text.starts_with("✅ Done")
}
