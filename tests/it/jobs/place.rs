//! The queue status of a job: the reason why it does not run.

use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::{Service, scripted};

#[tokio::test]
async fn a_job_knows_how_many_go_first() {
    let mut service = Service::without_worker().await;
    service.add_worker(&[("SKILLET_SLOTS", "1")]).await;
    service.model.script("busy", [Reply::stall()]);
    let running = service.create(&scripted("openai/gpt-test", "busy")).await;
    service.until_status(&running, &["running"]).await;

    let first = service.create(&shell(json!({}))).await;
    let second = service.create(&shell(json!({}))).await;
    let early = Utc::now() - TimeDelta::days(400);
    let backdated = service.create(&shell(json!({"run_at": early}))).await;
    let urgent = service.create(&shell(json!({"priority": 1}))).await;
    let idle = service.create(&shell(json!({"priority": -1}))).await;
    for (place, job) in [urgent, first, second, backdated, idle].iter().enumerate() {
        assert_eq!(
            queue(&service, job).await,
            json!({"reason": "position", "position": place}),
            "{place}"
        );
    }
    assert_eq!(queue(&service, &running).await, Value::Null);
}

#[tokio::test]
async fn a_job_without_any_worker_says_so() {
    let mut service = Service::without_worker().await;
    let job = service.create(&shell(json!({}))).await;
    assert_eq!(queue(&service, &job).await, json!({"reason": "no_worker"}));
    service.add_worker(&[]).await;
    service.finished(&job).await;
    assert_eq!(queue(&service, &job).await, Value::Null);
}

#[tokio::test]
async fn a_job_of_tomorrow_waits_although_a_worker_is_idle() {
    let service = Service::start().await;
    let tomorrow = "2126-01-02T03:04:05Z";
    let job = service
        .create(&shell(json!({"run_at": tomorrow, "priority": 100})))
        .await;
    let today = service.create_shell("true").await;
    service.finished(&today).await;
    assert_eq!(
        queue(&service, &job).await,
        json!({"reason": "scheduled", "run_at": tomorrow})
    );
    assert_eq!(service.events(&job).await.len(), 1);
    let (_, depth) = service.get("/v1/queue").await;
    assert_eq!(
        depth,
        json!({
            "paused": false, "ready": 0, "scheduled": 1, "blocked": 0, "running": 0, "demand": 0, "waiting": 0, "oldest": null,
            "paused_skills": [], "at_capacity": 0,
        })
    );
}

fn shell(more: Value) -> Value {
    let mut body = json!({"skill": "shell", "model": "script/bash", "prompt": "Nothing."});
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    body
}

async fn queue(service: &Service, job: &str) -> Value {
    service.get(&format!("/v1/jobs/{job}")).await.1["queue"].clone()
}
