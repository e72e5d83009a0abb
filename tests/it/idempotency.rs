//! Idempotency keys.

use std::collections::HashSet;

use futures_util::future::join_all;
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use shared::key::Scope;

use crate::support::problem::Problem;
use crate::support::{Service, bash, create_key, send};

#[tokio::test]
async fn the_same_request_under_the_same_key_is_answered_with_the_same_job() {
    let service = Service::start().await;
    let (status, job) = send(keyed(&service, "k-1").json(&request("echo 1"))).await;
    assert_eq!(status, 202);
    let id = job["id"].as_str().unwrap();
    let ended = service.finished(id).await;

    // Requests with the same meaning are equal, however they are written.
    let reordered =
        json!({"prompt": bash("echo 1"), "priority": 0, "skill": "shell", "model": "script/bash"});
    for body in [request("echo 1"), reordered] {
        let response = keyed(&service, "k-1").json(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["idempotent-replayed"], "true");
        assert_eq!(response.headers()["location"], format!("/v1/jobs/{id}"));
        assert_eq!(
            response.json::<Value>().await.unwrap(),
            ended,
            "as it stands now"
        );
    }
    let (status, other) = send(keyed(&service, "k-2").json(&request("echo 1"))).await;
    assert_eq!(status, 202);
    assert_ne!(other["id"], job["id"], "another key");
    let plain = service.create(&request("echo 1")).await;
    assert_ne!(plain, id, "no key");
}

#[tokio::test]
async fn another_request_under_the_same_key_is_refused() {
    let service = Service::without_worker().await;
    send(keyed(&service, "k").json(&request("echo 1"))).await;
    let other = Problem::of(keyed(&service, "k").json(&request("echo 2"))).await;
    assert_eq!(other.kind(), (422, "idempotency_key_reused"));
    assert_eq!(jobs(&service).await, 1);
}

#[tokio::test]
async fn a_key_goes_with_its_job() {
    let service = Service::without_worker().await;
    let (_, first) = send(keyed(&service, "k").json(&request("echo 1"))).await;
    let path = format!("/v1/jobs/{}", first["id"].as_str().unwrap());
    service.post(&format!("{path}/cancel"), &Value::Null).await;
    let removed = service.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(removed.status(), 204);
    let (status, second) = send(keyed(&service, "k").json(&request("echo 1"))).await;
    assert_eq!(status, 202);
    assert_ne!(second["id"], first["id"]);
}

#[tokio::test]
async fn a_replay_can_be_waited_for_too() {
    let service = Service::start().await;
    let slow = request("sleep 1; echo done");
    send(keyed(&service, "k").json(&slow)).await;
    let (status, job) = send(keyed(&service, "k").header("Prefer", "wait=20").json(&slow)).await;
    assert_eq!((status, &job["text"]), (StatusCode::OK, &json!("done")));
}

#[tokio::test]
async fn a_refused_request_does_not_use_its_key_up() {
    let service = Service::without_worker().await;
    let wrong = json!({"skill": "none", "prompt": "x", "model": "script/bash"});
    let refused = Problem::of(keyed(&service, "k").json(&wrong)).await;
    assert_eq!(refused.kind(), (422, "invalid_request"));
    let (status, _) = send(keyed(&service, "k").json(&request("echo 1"))).await;
    assert_eq!(status, 202);
}

/// Sends more requests at once than the API has database connections. A request that holds one must not wait for
/// another.
#[tokio::test]
async fn many_requests_at_once_under_one_key_make_one_job() {
    let service = Service::without_worker().await;
    let one = || send(keyed(&service, "k").json(&request("echo 1")));
    let answers = join_all((0..60).map(|_| one())).await;
    let ids: HashSet<_> = answers
        .iter()
        .map(|(_, job)| job["id"].to_string())
        .collect();
    let accepted = answers.iter().filter(|(status, _)| *status == 202).count();
    let repeated = answers.iter().filter(|(status, _)| *status == 200).count();
    assert_eq!((ids.len(), accepted, repeated), (1, 1, 59), "{answers:#?}");
    assert_eq!(jobs(&service).await, 1);
}

#[tokio::test]
async fn a_key_is_one_tenants_own() {
    let service = Service::without_worker().await;
    let other_key = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let (_, mine) = send(keyed(&service, "k").json(&request("echo 1"))).await;
    let theirs = service
        .anonymous(Method::POST, "/v1/jobs")
        .bearer_auth(other_key);
    let theirs = theirs
        .header("Idempotency-Key", "k")
        .json(&request("echo 2"));
    let (status, theirs) = send(theirs).await;
    assert_eq!(status, 202);
    assert_ne!(mine["id"], theirs["id"]);
}

#[tokio::test]
async fn a_key_that_is_none_is_refused() {
    let service = Service::without_worker().await;
    for key in ["", "  ", "schlüssel", &"k".repeat(256)] {
        let refused = Problem::of(keyed(&service, key).json(&request("echo 1"))).await;
        assert_eq!(refused.kind(), (400, "malformed_request"), "{key}");
        assert!(
            refused.detail().contains("`Idempotency-Key`"),
            "{refused:?}"
        );
    }
    assert_eq!(jobs(&service).await, 0);
    let (status, _) = send(keyed(&service, &"k".repeat(255)).json(&request("echo 1"))).await;
    assert_eq!(status, 202);
}

fn request(command: &str) -> Value {
    json!({"skill": "shell", "model": "script/bash", "prompt": bash(command)})
}

fn keyed(service: &Service, key: &str) -> RequestBuilder {
    let request = service.request(Method::POST, "/v1/jobs");
    request.header("Idempotency-Key", key.as_bytes())
}

async fn jobs(service: &Service) -> i64 {
    let count = sqlx::query_scalar("select count(*) from job");
    count.fetch_one(&service.pool).await.unwrap()
}
