//! Mixed releases: data that the other release cannot read affects nothing else.

mod claim;
mod list;
mod log;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Service;
use shared::id::JobId;

/// What the next release is taken to write in the place of a tool of this one.
const TOOL_OF_NEXT_RELEASE: &str = "tool.of_next_release";

/// Makes an agent `next` whose tools include one that another agent has not.
async fn put_agent(service: &Service, name: &str) {
    let agent = service.request(Method::PUT, &format!("/v1/agents/{name}"));
    let agent = agent.json(&json!({"soul": "I run.", "tools": ["shell.exec", "file.read"]}));
    assert!(agent.send().await.unwrap().status().is_success());
}

/// Writes the job's request as the next release might.
async fn modernize(service: &Service, job: &str) {
    rewrite(service, job, "\"file.read\"", TOOL_OF_NEXT_RELEASE).await;
}

/// Writes the job's request as this release does, which is what a worker of the next one can read.
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

/// A job of an agent that runs a command, before all others.
fn urgent(agent: &str, command: &str) -> Value {
    let prompt = crate::support::bash(command);
    json!({"agent": agent, "model": "script/bash", "prompt": prompt, "priority": 100})
}
