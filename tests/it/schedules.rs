//! Schedules.

mod due;
mod late;
mod refused;
mod stored;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Service, bash, until};

/// Returns a schedule that runs a command each hour.
fn hourly(name: &str) -> Value {
    json!({
        "name": name,
        "interval_seconds": 3600,
        "job": {"skill": "shell", "model": "script/bash", "prompt": bash("true")},
    })
}

/// Returns the same schedule with other fields.
fn hourly_with(name: &str, fields: Value) -> Value {
    let mut schedule = hourly(name);
    let fields = fields.as_object().unwrap().clone();
    schedule.as_object_mut().unwrap().extend(fields);
    schedule
}

/// Creates a schedule and returns its path.
async fn create(service: &Service, schedule: &Value) -> String {
    let (status, created) = service.post("/v1/schedules", schedule).await;
    assert_eq!(status, 201, "{created:#}");
    format!("/v1/schedules/{}", created["id"].as_str().unwrap())
}

/// Simulates that hours pass for all schedules and their runs.
async fn pass_hours(service: &Service, hours: f64) {
    let pass = "update schedule set
                    next_at = next_at - $1 * interval '1 hour', created_at = created_at - $1 * interval '1 hour'";
    let pass = sqlx::query(pass).bind(hours).execute(&service.pool);
    pass.await.unwrap();
    let pass = "update schedule_run set
                    scheduled_for = scheduled_for - $1 * interval '1 hour', due_at = due_at - $1 * interval '1 hour'";
    let pass = sqlx::query(pass).bind(hours).execute(&service.pool);
    pass.await.unwrap();
}

/// Returns the runs of a schedule, the earliest first.
async fn runs(service: &Service, path: &str) -> Vec<Value> {
    let (status, page) = service.get(&format!("{path}/runs?limit=100")).await;
    assert_eq!(status, 200, "{page:#}");
    let mut runs = page["data"].as_array().unwrap().clone();
    runs.reverse();
    runs
}

/// Waits until the schedule has this number of runs and none is pending, and returns the runs.
async fn settled(service: &Service, path: &str, count: usize) -> Vec<Value> {
    let mut found = Vec::new();
    until(async || {
        found = runs(service, path).await;
        found.len() >= count && found.iter().all(|run| run["status"] != "pending")
    })
    .await;
    assert_eq!(found.len(), count, "{found:#?}");
    found
}

/// Returns the status of each run, or the reason why it was skipped.
fn states(runs: &[Value]) -> Vec<&str> {
    runs.iter()
        .map(|run| match run["reason"].as_str() {
            Some(reason) => reason,
            None => run["status"].as_str().unwrap(),
        })
        .collect()
}

/// Pauses the queue, so that no job ends.
async fn pause_queue(service: &Service) {
    let paused = service.request(Method::POST, "/v1/queue/pause").send();
    assert!(paused.await.unwrap().status().is_success());
}

async fn count(service: &Service, query: &'static str) -> i64 {
    sqlx::query_scalar(query)
        .fetch_one(&service.pool)
        .await
        .unwrap()
}
