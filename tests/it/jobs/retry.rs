//! Retrying a finished job.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::problem::Problem;
use crate::support::{Service, bash, until};
use shared::id::JobId;

#[tokio::test]
async fn a_retry_is_a_new_job_with_the_same_request() {
    let service = Service::start().await;
    let job = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("cat note.txt"),
        "inputs": [{"name": "note.txt", "data": STANDARD.encode("remember")}],
        "metadata": {"order": 7},
    });
    let first = service.run(&job).await;
    let path = format!("/v1/jobs/{}", first["id"].as_str().unwrap());
    let response = service
        .request(Method::POST, &format!("{path}/retry"))
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), 202);
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let created: Value = response.json().await.unwrap();
    assert_eq!(
        location,
        format!("/v1/jobs/{}", created["id"].as_str().unwrap())
    );
    assert_eq!(created["status"], "queued");

    let second = service.finished(created["id"].as_str().unwrap()).await;
    assert_ne!(second["id"], first["id"]);
    assert_eq!(
        (&first["retry_of"], &second["retry_of"]),
        (&Value::Null, &first["id"])
    );
    for field in ["skill", "model", "metadata", "status", "text"] {
        assert_eq!(second[field], first[field], "{field}");
    }
    assert_eq!(second["text"], "remember");
    assert_eq!(
        service.get(&path).await.1,
        first,
        "what is retried stays as it is"
    );
}

#[tokio::test]
async fn what_came_with_a_request_outlives_its_first_job() {
    let mut service = Service::without_worker().await;
    let job = service
        .create(&json!({
            "skill": "shell", "model": "script/bash", "prompt": bash("cat note.txt"),
            "inputs": [{"name": "note.txt", "data": STANDARD.encode("remember")}],
        }))
        .await;
    let path = format!("/v1/jobs/{job}");
    service.post(&format!("{path}/cancel"), &Value::Null).await;
    let (_, again) = service.post(&format!("{path}/retry"), &Value::Null).await;
    let removed = service.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(removed.status(), 204);
    service.add_worker(&[]).await;
    let ended = service.finished(again["id"].as_str().unwrap()).await;
    assert_eq!(ended["text"], "remember", "{ended:#}");
}

#[tokio::test]
async fn only_a_job_that_has_ended_is_retried() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let path = format!("/v1/jobs/{job}/retry");
    let refused = Problem::of(service.request(Method::POST, &path)).await;
    assert_eq!(refused.kind(), (409, "job_not_finished"));
    service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    let (status, retry) = service.post(&path, &Value::Null).await;
    assert_eq!((status.as_u16(), &retry["retry_of"]), (202, &json!(job)));
}

#[tokio::test]
async fn a_job_that_is_removed_while_it_is_run_again_is_not_found() {
    let service = Service::start().await;
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    let job = service.run(&job).await;
    let id = job["id"].as_str().unwrap();
    let mut removing = service.pool.begin().await.unwrap();
    for change in [
        "delete from job where id = $1",
        "delete from job_end where job_id = $1",
    ] {
        let change = sqlx::query(change).bind(id.parse::<JobId>().unwrap());
        change.execute(&mut *removing).await.unwrap();
    }
    let retry = service.request(Method::POST, &format!("/v1/jobs/{id}/retry"));
    let retry = tokio::spawn(Problem::of(retry));
    // The retry has found the job and is about to use it.
    let waits = "select exists (select from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock')";
    until(async || {
        let waits = sqlx::query_scalar::<_, bool>(waits);
        waits.fetch_one(&service.pool).await.unwrap()
    })
    .await;
    removing.commit().await.unwrap();
    assert_eq!(retry.await.unwrap().kind(), (404, "not_found"));
    let (_, jobs) = service.get("/v1/jobs").await;
    assert_eq!(jobs["data"], json!([]));
}
