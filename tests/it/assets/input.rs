//! Inputs of a job in its workspace.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Service, bash};

#[tokio::test]
async fn every_kind_of_input_reaches_the_workspace_under_its_name() {
    let service = Service::start().await;
    let asset = service.upload("../up loaded.txt", "by upload").await;
    let inline =
        |name: &str, content: &str| json!({"name": name, "data": STANDARD.encode(content)});
    let inputs = json!([
        {"asset_id": asset["id"]},
        inline("in/line.txt", "by value"),
        inline("größe.txt", "two bytes: ö"),
        inline("empty.txt", ""),
    ]);
    let job = run(
        &service,
        &inputs,
        "for f in *; do echo \"$f=$(cat \"$f\")\"; done",
    )
    .await;
    let expected = "empty.txt=\ngröße.txt=two bytes: ö\nline.txt=by value\nup loaded.txt=by upload";
    assert_eq!(job["text"], expected, "{job:#}");
    assert_eq!(
        service.download(&asset).await,
        b"by upload",
        "a job has a copy"
    );
}

#[tokio::test]
async fn inputs_of_one_name_become_files_of_their_own() {
    let service = Service::start().await;
    let one = service.upload("a.csv", "1").await;
    let data = |name: &str, content: &str| json!({"name": name, "data": STANDARD.encode(content)});
    let inputs = json!([
        {"asset_id": one["id"]}, {"asset_id": one["id"]}, data("a.csv", "3"), data("A.CSV", "4"), data("b/a.csv", "5"),
    ]);
    let job = run(
        &service,
        &inputs,
        "LC_ALL=C; for f in *; do echo \"$f=$(cat \"$f\")\"; done",
    )
    .await;
    assert_eq!(
        job["text"], "A-4.CSV=4\na-2.csv=1\na-3.csv=3\na-5.csv=5\na.csv=1",
        "{job:#}"
    );
}

#[tokio::test]
async fn a_job_whose_file_was_removed_before_it_began_fails_with_its_name() {
    let mut service = Service::without_worker().await;
    let asset = service.upload("a.txt", "x").await;
    let id = asset["id"].as_str().unwrap();
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": "x", "inputs": [{"asset_id": id}]});
    let job = service.create(&body).await;
    let path = format!("/v1/assets/{id}");
    service.request(Method::DELETE, &path).send().await.unwrap();
    service.add_worker(&[]).await;
    let job = service.finished(&job).await;
    let message = format!("asset {id} was deleted before the job could start");
    assert_eq!(job["status"], "failed");
    assert_eq!(
        job["error"],
        json!({"code": "input_unavailable", "message": message, "retryable": true})
    );
}

async fn run(service: &Service, inputs: &Value, command: &str) -> Value {
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": bash(command), "inputs": inputs});
    service.run(&body).await
}
