//! MCP servers of agents.

mod ending;
mod hostile;
mod refused;
mod result;
mod service;
mod site;
mod start;

use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::log::data;
use crate::support::{Service, has_program};

const SERVER: &str = include_str!("mcp/server.py");
const TOKEN: &str = "tok-4b1f9a7e33c0d6";

/// A service with an agent `user` that has MCP servers, and with a scripted model.
struct McpSetup {
    service: Service,
    jobs: AtomicUsize,
}

/// The result of one tool call.
#[derive(Debug)]
struct McpCallResult {
    outcome: String,
    output: String,
}

/// The result of a job.
struct Ended {
    id: String,
    job: Value,
    calls: Vec<McpCallResult>,
}

impl McpSetup {
    /// Returns `None` if Python, the language of the servers, is not installed.
    async fn start() -> Option<Self> {
        Self::with(&[]).await
    }

    async fn with(environment: &[(&str, &str)]) -> Option<Self> {
        if !has_program("python3") {
            return None;
        }
        let mut service = Service::with_environment(environment).await;
        service.add_worker(&[]).await;
        let secret = service.request(Method::PUT, "/v1/secrets/TOKEN");
        let secret = secret.json(&json!({"value": TOKEN})).send().await.unwrap();
        assert_eq!(secret.status(), 204);
        Some(Self {
            service,
            jobs: AtomicUsize::new(0),
        })
    }

    /// Creates or replaces the agent, with these servers and the additional fields of `more`.
    async fn serve(&self, servers: &[Value], more: Value) {
        let mut body = json!({"soul": "You are.", "model": "anthropic/m", "secrets": ["TOKEN"], "mcp_servers": servers});
        let fields = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        let put = self.service.request(Method::PUT, "/v1/agents/user");
        let response = put.json(&body).send().await.unwrap();
        let status = response.status();
        assert!(status.is_success(), "{}", response.text().await.unwrap());
    }

    /// Starts a job whose model makes these calls, one per reply, by their names on the wire.
    async fn begin(&self, calls: &[(&str, Value)], more: Value) -> String {
        let marker = format!("mcp-{}", self.jobs.fetch_add(1, Ordering::Relaxed));
        let replies = calls
            .iter()
            .map(|(tool, input)| Reply::call(tool, input.clone()));
        let replies: Vec<_> = replies.chain([Reply::text("Done.")]).collect();
        self.service.model.script(&marker, replies);
        let server = self.service.upload("server.py", SERVER).await;
        let mut body = json!({
            "agent": "user", "prompt": format!("Go. #{marker}"), "inputs": [{"asset_id": server["id"]}],
            "limits": {"max_iterations": 50},
        });
        let fields = more.as_object().unwrap().clone();
        body.as_object_mut().unwrap().extend(fields);
        self.service.create(&body).await
    }

    /// Waits for the end of the job, and returns its result.
    async fn end(&self, id: String) -> Ended {
        let job = self.service.finished(&id).await;
        assert_eq!(self.service.model.violations(), [""; 0]);
        let events = self.service.events(&id).await;
        let calls = data(&events, "tool.completed")
            .into_iter()
            .map(|data| McpCallResult {
                outcome: data["outcome"].as_str().unwrap().to_owned(),
                output: data["output"].as_str().unwrap().to_owned(),
            });
        let calls = calls.collect();
        Ended { id, job, calls }
    }

    /// Runs a job that must complete, and returns the results of its calls.
    async fn run(&self, calls: &[(&str, Value)]) -> Vec<McpCallResult> {
        let id = self.begin(calls, json!({})).await;
        let ended = self.end(id).await;
        let logs = || self.service.logs();
        assert_eq!(ended.job["text"], "Done.", "{:#}\n{}", ended.job, logs());
        assert_eq!(ended.calls.len(), calls.len());
        ended.calls
    }

    /// Runs a job that must fail, and returns its error.
    async fn fail(&self) -> Value {
        let id = self.begin(&[], json!({})).await;
        let job = self.service.finished(&id).await;
        assert_eq!(job["status"], "failed", "{job:#}");
        job["error"].clone()
    }
}

impl McpCallResult {
    /// Checks the outcome, and that the output contains this text.
    fn assert(&self, outcome: &str, words: &str) {
        assert!(
            self.outcome == outcome && self.output.contains(words),
            "{outcome}: {words}\n{self:?}"
        );
    }
}

/// Returns a server `srv` that runs as a program in the sandbox and has this behaviour.
fn program(behaviour: &str) -> Value {
    json!({"name": "srv", "command": ["python3", "server.py", behaviour]})
}

/// Returns the same server with more settings.
fn program_with(behaviour: &str, more: Value) -> Value {
    let mut server = program(behaviour);
    let fields = more.as_object().unwrap().clone();
    server.as_object_mut().unwrap().extend(fields);
    server
}
