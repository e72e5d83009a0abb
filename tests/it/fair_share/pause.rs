//! Pauses of the queue and of skills.

use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::{Service, scripted};

async fn place(service: &Service, job: &str) -> Value {
    service.get(&format!("/v1/jobs/{job}")).await.1["queue"].clone()
}

async fn order(service: &Service, path: &str) -> Value {
    let (status, queue) = service.post(path, &Value::Null).await;
    assert_eq!(status, 200, "{queue}");
    queue
}

#[tokio::test]
async fn a_paused_queue_begins_nothing_and_lets_run_what_runs() {
    let service = Service::start().await;
    service.model.script("under-way", [Reply::stall()]);
    let running = service
        .create(&scripted("openai/gpt-test", "under-way"))
        .await;
    service.model.stalled("under-way").await;
    assert_eq!(order(&service, "/v1/queue/pause").await["paused"], true);

    let job = service.create_shell("true").await;
    assert_eq!(
        place(&service, &job).await,
        json!({"reason": "queue_paused"})
    );
    // No claim since the pause has returned a job.
    assert_eq!(service.get("/v1/queue").await.1["paused"], true);
    let (_, still) = service.get(&format!("/v1/jobs/{running}")).await;
    assert_eq!(still["status"], "running");

    assert_eq!(order(&service, "/v1/queue/resume").await["paused"], false);
    assert_eq!(service.finished(&job).await["status"], "completed");
    assert_eq!(order(&service, "/v1/queue/resume").await["paused"], false);
}

#[tokio::test]
async fn a_paused_skill_waits_while_others_run() {
    let service = Service::start().await;
    let queue = order(&service, "/v1/skills/shell/pause").await;
    assert_eq!(queue["paused_skills"], json!(["shell"]));
    let job = service.create_shell("true").await;
    let other = json!({"skill": "html", "model": "script/bash", "prompt": "Nothing."});
    service.run(&other).await;
    assert_eq!(
        place(&service, &job).await,
        json!({"reason": "skill_paused", "skill": "shell"})
    );
    assert_eq!(service.get("/v1/skills/shell").await.1["paused"], true);
    let (_, skills) = service.get("/v1/skills").await;
    let skills = skills["data"].as_array().unwrap();
    let paused = skills.iter().filter(|skill| skill["paused"] == true);
    assert_eq!(paused.count(), 1);

    let queue = order(&service, "/v1/skills/shell/resume").await;
    assert_eq!(queue["paused_skills"], json!([]));
    assert_eq!(service.finished(&job).await["status"], "completed");
    let (status, _) = service.post("/v1/skills/nosuch/pause", &Value::Null).await;
    assert_eq!(status, 404);
}
