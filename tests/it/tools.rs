//! Tools: their effects, and one result for each call.

mod api;
mod browser;
mod browser_steps;
mod file;
mod members;
mod order;
mod output;
mod private_host;
mod shell;
mod site;
mod sql;
mod supabase;
mod web;

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::Service;
use crate::support::log::data;

const SKILLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/skills");

/// A service with the test skills and a scripted model.
struct ToolSetup {
    service: Service,
    jobs: AtomicUsize,
}

/// The result of one call.
#[derive(Debug)]
struct ToolCallResult {
    outcome: String,
    output: String,
    truncated: bool,
}

impl ToolSetup {
    async fn start() -> Self {
        Self::with(&[]).await
    }

    async fn with(environment: &[(&str, &str)]) -> Self {
        let environment = [&[("SKILLET_SKILLS_DIR", SKILLS)], environment].concat();
        let mut service = Service::with_environment(&environment).await;
        service.add_worker(&[]).await;
        Self {
            service,
            jobs: AtomicUsize::new(0),
        }
    }

    /// Runs the calls of one reply in a job of the skill, by their names on the wire.
    async fn run(&self, skill: &str, calls: &[(&str, Value)]) -> Vec<ToolCallResult> {
        self.run_with(skill, calls, json!({})).await
    }

    /// Runs the calls in a job with parameters.
    async fn run_with(
        &self,
        skill: &str,
        calls: &[(&str, Value)],
        parameters: Value,
    ) -> Vec<ToolCallResult> {
        let marker = format!("tools-{}", self.jobs.fetch_add(1, Ordering::Relaxed));
        let mut reply = Reply::text("I try.");
        for (tool, input) in calls {
            reply = reply.then_call(tool, input.clone());
        }
        self.service
            .model
            .script(&marker, [reply, Reply::text("Done.")]);
        let job = self
            .service
            .run(&json!({
                "skill": skill, "model": "anthropic/m", "prompt": format!("Go. #{marker}"), "parameters": parameters,
            }))
            .await;
        assert_eq!(job["text"], "Done.", "{job:#}\n{}", self.service.logs());
        assert_eq!(self.service.model.violations(), [""; 0]);
        let events = self.service.events(job["id"].as_str().unwrap()).await;
        let ran: Vec<_> = data(&events, "tool.completed")
            .into_iter()
            .map(|data| ToolCallResult {
                outcome: data["outcome"].as_str().unwrap().to_owned(),
                output: data["output"].as_str().unwrap().to_owned(),
                truncated: data["truncated"].as_bool().unwrap(),
            })
            .collect();
        assert_eq!(ran.len(), calls.len());
        ran
    }
}

impl ToolCallResult {
    /// Checks that the call failed with this text.
    fn assert_error(&self, words: &str) {
        assert!(
            self.outcome == "error" && self.output.contains(words),
            "{words}\n{self:?}"
        );
    }

    /// Returns the standard output of a command.
    fn stdout(&self) -> String {
        self.json()["stdout"].as_str().unwrap().to_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_str(&self.output).unwrap_or_else(|_| panic!("{self:?}"))
    }
}

fn sh(command: &str) -> (&'static str, Value) {
    ("shell_exec", json!({"command": command}))
}
