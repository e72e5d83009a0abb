//! Creating a job, and waiting for it in the same request.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::log::data;
use crate::support::{Service, bash, scripted, send};

const CLAUDE: &str = "anthropic/claude-test";

#[tokio::test]
async fn an_accepted_job_says_where_it_is_and_how_it_stands() {
    let service = Service::without_worker().await;
    let body =
        json!({"skill": "shell", "prompt": "Do it.", "model": CLAUDE, "metadata": {"order": 7}});
    let response = service
        .request(Method::POST, "/v1/jobs")
        .json(&body)
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 202);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let job: Value = response.json().await.unwrap();
    insta::assert_json_snapshot!(job, {".id" => "[id]", ".skill_digest" => "[sha256]", ".created_at" => "[time]"}, @r#"
    {
      "id": "[id]",
      "status": "queued",
      "title": "Do it.",
      "prompt_preview": "Do it.",
      "external_id": null,
      "skill": "shell",
      "skill_version": null,
      "skill_digest": "[sha256]",
      "agent": null,
      "agent_version": null,
      "conversation_id": null,
      "model": "anthropic/claude-test",
      "attempt": 0,
      "retry_of": null,
      "schedule_id": null,
      "created_at": "[time]",
      "started_at": null,
      "finished_at": null,
      "queued_ms": null,
      "duration_ms": null,
      "text": null,
      "outputs": [],
      "stop_reason": null,
      "error": null,
      "usage": {
        "input_tokens": 0,
        "output_tokens": 0,
        "cache_read_tokens": 0,
        "cache_write_tokens": 0,
        "reasoning_tokens": 0,
        "iterations": 0,
        "tool_calls": 0
      },
      "warnings": [],
      "metadata": {
        "order": 7
      }
    }
    "#);
    assert_eq!(
        location,
        format!("/v1/jobs/{}", job["id"].as_str().unwrap())
    );
    let (status, mut shown) = service.get(&location).await;
    let queue = shown.as_object_mut().unwrap().shift_remove("queue");
    assert_eq!((status.as_u16(), shown), (200, job));
    assert!(queue.is_some(), "only where the job is shown");
}

#[tokio::test]
async fn what_a_job_came_to_is_there_when_it_has_ended() {
    let service = Service::start().await;
    service.model.script(
        "sum",
        [
            Reply::text("I compute.").then_call("shell.exec", json!({"command": "echo $((1+1))"})),
            Reply::text("It is 2.").usage(100, 7).cached(60, 30),
        ],
    );
    let job = service.run(&scripted(CLAUDE, "sum")).await;
    insta::assert_json_snapshot!(job, {
        ".id" => "[id]", ".skill_digest" => "[sha256]", ".created_at" => "[time]", ".started_at" => "[time]", ".finished_at" => "[time]",
        ".queued_ms" => "[ms]", ".duration_ms" => "[ms]",
    }, @r#"
    {
      "id": "[id]",
      "status": "completed",
      "title": "Do it. #sum",
      "prompt_preview": "Do it. #sum",
      "external_id": null,
      "skill": "shell",
      "skill_version": null,
      "skill_digest": "[sha256]",
      "agent": null,
      "agent_version": null,
      "conversation_id": null,
      "model": "anthropic/claude-test",
      "attempt": 1,
      "retry_of": null,
      "schedule_id": null,
      "created_at": "[time]",
      "started_at": "[time]",
      "finished_at": "[time]",
      "queued_ms": "[ms]",
      "duration_ms": "[ms]",
      "text": "It is 2.",
      "outputs": [],
      "stop_reason": "end_turn",
      "error": null,
      "usage": {
        "input_tokens": 110,
        "output_tokens": 12,
        "cache_read_tokens": 60,
        "cache_write_tokens": 30,
        "reasoning_tokens": 0,
        "iterations": 2,
        "tool_calls": 1
      },
      "warnings": [],
      "metadata": {}
    }
    "#);
}

#[tokio::test]
async fn metadata_comes_back_as_it_was_sent() {
    let service = Service::without_worker().await;
    let metadata = r#"{"z":1,"a":[null,true,1.5,"ü\u0001"],"":{"nested":{"b":2,"a":1}}}"#;
    let body = format!(
        r#"{{"skill":"shell","prompt":"nothing\u0001","model":"script/bash","metadata":{metadata}}}"#
    );
    let request = service.request(Method::POST, "/v1/jobs");
    let request = request.header("Content-Type", "application/json");
    let (_, job) = send(request.body(body)).await;
    assert_eq!(job["metadata"].to_string(), metadata, "{job:#}");
    let id = job["id"].as_str().unwrap();
    let (_, shown) = service.get(&format!("/v1/jobs/{id}")).await;
    assert_eq!(shown["metadata"].to_string(), metadata);
}

#[tokio::test]
async fn who_waits_is_answered_when_the_job_ends() {
    let service = Service::start().await;
    let begun_at = Instant::now();
    let (status, job) = create_and_wait(&service, "wait=60", &shell("echo hi")).await;
    assert!(begun_at.elapsed() < Duration::from_secs(30));
    assert_eq!(status, 200);
    assert_eq!(
        (&job["status"], &job["text"]),
        (&json!("completed"), &json!("hi"))
    );
}

#[tokio::test]
async fn who_waits_too_short_gets_the_job_as_it_stands() {
    let service = Service::start().await;
    service.model.script("slow", [Reply::stall()]);
    let begun_at = Instant::now();
    let (status, job) =
        create_and_wait(&service, "respond-async, wait=1", &scripted(CLAUDE, "slow")).await;
    assert!(begun_at.elapsed() >= Duration::from_secs(1));
    assert_eq!((status, &job["status"]), (202, &json!("running")));

    // A `wait` that is not a positive number of seconds is ignored, and so is a preference that the API does not
    // support.
    for preference in ["wait=0", "wait=soon", "return=minimal"] {
        let (status, job) = create_and_wait(&service, preference, &shell("sleep 5")).await;
        assert_eq!(status, 202, "{preference}: {job:#}");
    }
}

#[tokio::test]
async fn a_job_that_reaches_its_iterations_completes_with_a_warning() {
    let service = Service::start().await;
    service.model.script_with("again", |request| {
        let command = format!("echo {}", request.turn());
        Reply::text("Once more.").then_call("shell.exec", json!({"command": command}))
    });
    let mut body = scripted(CLAUDE, "again");
    body["limits"] = json!({"max_iterations": 2});
    let job = service.run(&body).await;
    let warning = "stopped after limits.max_iterations (2) replies; the work may not be finished: run the job again with a \
         higher limit";
    assert_eq!(job["status"], "completed");
    assert_eq!(job["stop_reason"], "max_iterations");
    assert_eq!(job["usage"]["iterations"], 2);
    assert_eq!(job["text"], "Once more.");
    assert_eq!(job["warnings"], json!([warning]));
    assert_eq!(service.model.requests("again").len(), 2);
    let events = service.events(job["id"].as_str().unwrap()).await;
    assert_eq!(
        data(&events, "log"),
        [&json!({"level": "warning", "message": warning})]
    );
}

fn shell(command: &str) -> Value {
    json!({"skill": "shell", "model": "script/bash", "prompt": bash(command)})
}

async fn create_and_wait(service: &Service, preference: &str, body: &Value) -> (u16, Value) {
    let request = service
        .request(Method::POST, "/v1/jobs")
        .header("Prefer", preference);
    let response = request.json(body).send().await.unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}
