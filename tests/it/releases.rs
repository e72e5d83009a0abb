//! Mixed releases: data that one release cannot read affects nothing else.

mod claim;
mod list;
mod log;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Service;
use shared::id::JobId;

/// The simulated name that the next release stores for a tool.
const TOOL_OF_NEXT_RELEASE: &str = "tool.of_next_release";

/// Creates an agent with the tool `file.read`, whose name [`modernize`] replaces in a job.
async fn put_agent(service: &Service, name: &str) {
    let agent = service.request(Method::PUT, &format!("/v1/agents/{name}"));
    let agent = agent.json(&json!({"soul": "I run.", "tools": ["shell.exec", "file.read"]}));
    assert!(agent.send().await.unwrap().status().is_success());
}

/// Changes the job's request to a form that only the next release can read.
async fn modernize(service: &Service, job: &str) {
    rewrite(service, job, "\"file.read\"", TOOL_OF_NEXT_RELEASE).await;
}

/// Changes the job's request back to the form of this release.
async fn restore(service: &Service, job: &str) {
    let newer = format!("\"{TOOL_OF_NEXT_RELEASE}\"");
    rewrite(service, job, &newer, "file.read").await;
}

async fn rewrite(service: &Service, job: &str, from: &str, to: &str) {
    let change =
        "update job set request = replace(request::text, $2, to_json($3::text)::text)::json
                  where id = $1 and request::text like '%' || $2 || '%'";
    let change = sqlx::query(change).bind(id(job)).bind(from).bind(to);
    let changed = change.execute(&service.pool).await.unwrap();
    assert_eq!(changed.rows_affected(), 1);
}

async fn execute(service: &Service, sql: &'static str, job: &str) {
    let change = sqlx::query(sql).bind(id(job));
    let changed = change.execute(&service.pool).await.unwrap();
    assert_eq!(changed.rows_affected(), 1, "{sql}");
}

fn id(job: &str) -> JobId {
    job.parse().unwrap()
}

/// Returns a job of an agent that runs a command with a higher priority than all others.
fn urgent(agent: &str, command: &str) -> Value {
    let prompt = crate::support::bash(command);
    json!({"agent": agent, "model": "script/bash", "prompt": prompt, "priority": 100})
}
