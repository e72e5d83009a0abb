//! Budgets of jobs and of tenants.

mod crash;
mod limit;
mod price;
mod refused;
mod shared_budget;
mod tenant;

use serde_json::{Value, json};
use tests::model_server::{Reply, Request};

use crate::support::Service;

const CLAUDE: &str = "anthropic/claude-test";
const GPT: &str = "openai/gpt-test";
/// The prices in dollars for a million input, output, cache read and cache write tokens.
const PRICES: &str = "anthropic/claude-*=3:15:0.3:3.75,openai/gpt-test=2:8:0.5";

/// Starts a service with model prices and one worker.
async fn service() -> Service {
    let mut service = Service::with_environment(&[("SKILLET_PRICES", PRICES)]).await;
    service.add_worker(&[]).await;
    service
}

/// Returns the request for a job of the skill `shell` with these limits.
fn limited(model: &str, marker: &str, mut limits: Value) -> Value {
    if limits["max_tokens"].is_null() {
        limits["max_tokens"] = json!(4096);
    }
    json!({"skill": "shell", "model": model, "prompt": format!("Do it. #{marker}"), "limits": limits})
}

/// Scripts replies that use all permitted tokens and always call a tool.
fn be_greedy(service: &Service, marker: &str) {
    service.model.script_with(marker, |request| {
        let command = format!("echo {}", request.turn());
        Reply::text("More.")
            .then_call("shell.exec", json!({ "command": command }))
            .usage(read(request), cap(request))
    });
}

/// Estimates the number of input tokens that a provider would count.
fn read(request: &Request) -> u64 {
    request.body.to_string().len() as u64 / 3
}

/// Returns the token limit of the reply.
fn cap(request: &Request) -> u64 {
    let cap = [&request["max_tokens"], &request["max_completion_tokens"]];
    cap.into_iter().find_map(Value::as_u64).unwrap()
}

/// Returns the sum of the input and output tokens.
fn tokens(usage: &Value) -> u64 {
    let count = |field: &str| usage[field].as_u64().unwrap();
    count("input_tokens") + count("output_tokens")
}

/// Converts an amount of dollars to billionths.
fn nanos(amount: &Value) -> u64 {
    (amount.as_f64().unwrap() * 1e9).round() as u64
}
