//! Tool calls that need the approval of a person.

mod answered;
mod ended;
mod rules;
mod scenario;
mod terminal;

use serde_json::{Value, json};

use crate::support::Service;

const CLAUDE: &str = "anthropic/claude-test";

/// Returns the request for a job of the default agent whose shell calls need approval.
fn confirmed(marker: &str) -> Value {
    json!({
        "agent": "default", "model": CLAUDE, "prompt": format!("Do it. #{marker}"),
        "hooks": {"confirm": ["shell.*"]},
    })
}

fn shell(command: &str) -> Value {
    json!({ "command": command })
}

/// Returns the pending approvals of a job, in the order of its tool calls.
async fn pending(service: &Service, job: &str) -> Vec<Value> {
    let path = format!("/v1/jobs/{job}/approvals?status=pending");
    let (status, page) = service.get(&path).await;
    assert_eq!(status, 200, "{page:#}");
    let mut pending = page["data"].as_array().unwrap().clone();
    pending.reverse();
    pending
}

/// Waits until the job waits, and returns its pending approvals.
async fn waiting(service: &Service, job: &str) -> Vec<Value> {
    service.until_status(job, &["waiting"]).await;
    pending(service, job).await
}

async fn answer(service: &Service, approval: &Value, body: &Value) -> (u16, Value) {
    let path = format!("/v1/approvals/{}", approval["id"].as_str().unwrap());
    let (status, answer) = service.post(&path, body).await;
    (status.as_u16(), answer)
}

async fn approve(service: &Service, approval: &Value) {
    let (status, answered) = answer(service, approval, &json!({"decision": "approve"})).await;
    assert_eq!(status, 200, "{answered:#}");
    assert_eq!(answered["status"], "approved");
}
