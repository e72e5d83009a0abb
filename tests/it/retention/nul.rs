//! Stored texts with a NUL character, from releases that accepted it.

use serde_json::json;

use super::{age, asset_path, forget, is_gone, job_path};
use crate::support::{Service, bash};
use shared::id::JobId;

/// Inserts a NUL into the prompt of a job.
async fn add_nul(service: &Service, job: &str) {
    let change =
        r#"update job set request = replace(request::text, 'HERE', '\u0000')::json where id = $1"#;
    let change = sqlx::query(change).bind(job.parse::<JobId>().unwrap());
    let changed = change.execute(&service.pool).await.unwrap();
    assert_eq!(changed.rows_affected(), 1);
}

#[tokio::test]
async fn an_unfinished_job_with_a_nul_keeps_its_inputs_and_nothing_else() {
    let mut service = Service::start().await;
    let [unused, held] = ["unused.txt", "held.txt"].map(|name| service.upload(name, name));
    let (unused, held) = (unused.await, held.await);
    let later = json!({
        "skill": "shell", "model": "script/bash", "prompt": "HERE", "run_at": "2126-01-01T00:00:00Z",
        "inputs": [{"asset_id": held["id"]}],
    });
    let later = service.create(&later).await;
    let later = age(&service, &later, 50).await;
    add_nul(&service, &later).await;
    let old = service.create_shell("true").await;
    service.finished(&old).await;
    let old = age(&service, &old, 50).await;
    let past = sqlx::query("update asset set used_at = used_at - interval '40 days'");
    past.execute(&service.pool).await.unwrap();

    forget(&mut service, &[]).await;
    assert!(is_gone(&service, &job_path(&old)).await);
    assert!(is_gone(&service, &asset_path(&unused)).await);
    assert!(!is_gone(&service, &job_path(&later)).await);
    assert_eq!(service.download(&held).await, b"held.txt");
}

#[tokio::test]
async fn a_conversation_with_a_nul_is_shown() {
    let service = Service::start().await;
    let (_, conversation) = service.post("/v1/conversations", &json!({})).await;
    let prompt = bash("true") + "HERE";
    let body = json!({
        "agent": "default", "model": "script/bash", "prompt": prompt, "conversation_id": conversation["id"],
    });
    let job = service.run(&body).await;
    add_nul(&service, job["id"].as_str().unwrap()).await;
    let path = format!("/v1/conversations/{}", conversation["id"].as_str().unwrap());
    let (status, shown) = service.get(&path).await;
    assert_eq!(status, 200, "{shown:#}");
    let text = shown["messages"]["data"][0]["said"]["text"].as_str();
    assert_eq!(text.unwrap(), prompt.replace("HERE", "\0"));
}
