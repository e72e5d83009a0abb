//! Short-lived tokens, and streams for browsers.

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use shared::key::Scope;
use tokio::io::AsyncReadExt;

use super::Raw;
use crate::support::problem::Problem;
use crate::support::{Service, Stream, bash, create_key, send};

async fn token(service: &Service, job: &str) -> String {
    let (status, made) = service
        .post(&format!("/v1/jobs/{job}/tokens"), &json!({}))
        .await;
    assert_eq!(status, 201, "{made:#}");
    let token = made["token"].as_str().unwrap();
    assert_eq!(
        made["stream_url"],
        format!("/v1/jobs/{job}/stream?token={token}")
    );
    token.to_owned()
}

#[tokio::test]
async fn a_token_reads_its_job_and_its_files_and_nothing_else() {
    let service = Service::with_maker().await;
    let prompt = bash("printf made > own.txt") + "\noutput document: own.txt";
    let body = json!({"skill": "maker", "model": "script/bash", "prompt": prompt});
    let job = service.run(&body).await;
    let id = job["id"].as_str().unwrap();
    let token = token(&service, id).await;
    let get = async |path: &str| {
        let request = service.anonymous(Method::GET, &format!("{path}token={token}"));
        request.send().await.unwrap()
    };
    assert_eq!(
        get(&format!("/v1/jobs/{id}?"))
            .await
            .json::<Value>()
            .await
            .unwrap(),
        job
    );
    assert_eq!(
        get(&format!("/v1/jobs/{id}/events?limit=1&"))
            .await
            .status(),
        200
    );
    let stream = get(&format!("/v1/jobs/{id}/stream?")).await;
    assert!(stream.text().await.unwrap().contains("job.completed"));
    let own = job["outputs"][0]["asset"]["content_url"].as_str().unwrap();
    let content = get(&format!("{own}?")).await;
    assert_eq!(
        content.headers()["cross-origin-resource-policy"],
        "cross-origin"
    );
    assert_eq!(content.text().await.unwrap(), "made");

    let upload = service.upload("a.txt", "x").await;
    let other = service.create_shell("true").await;
    for path in [
        format!("{}?", upload["content_url"].as_str().unwrap()),
        format!("/v1/jobs/{other}?"),
        format!("/v1/jobs/{id}/request?"),
        "/v1/jobs?".to_owned(),
        "/v1/me?".to_owned(),
    ] {
        let refused = Problem::of(service.anonymous(Method::GET, &format!("{path}token={token}")));
        assert_eq!(refused.await.kind(), (403, "forbidden"), "{path}");
    }
    let path = format!("/v1/jobs/{id}/cancel?token={token}");
    let refused = Problem::of(service.anonymous(Method::POST, &path)).await;
    assert_eq!(refused.kind(), (403, "forbidden"));
    assert!(
        !service.dump().await.contains(&token),
        "it is stored as a hash"
    );
    assert!(!service.logs().contains(&token), "it is not logged");

    let over = sqlx::query("update job_token set expires_at = now()");
    over.execute(&service.pool).await.unwrap();
    let path = format!("/v1/jobs/{id}?token={token}");
    let expired = Problem::of(service.anonymous(Method::GET, &path)).await;
    assert_eq!(expired.kind(), (401, "unauthorized"));
}

#[tokio::test]
async fn a_token_ends_with_the_key_that_made_it() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let (_, key) = service.post("/v1/keys", &json!({"name": "backend"})).await;
    let create = service.anonymous(Method::POST, &format!("/v1/jobs/{job}/tokens"));
    let create = create.bearer_auth(key["token"].as_str().unwrap());
    let (status, made) = send(create.json(&json!({"expires_in_seconds": 600}))).await;
    assert_eq!(status, 201, "{made:#}");
    let path = format!("/v1/jobs/{job}?token={}", made["token"].as_str().unwrap());
    let get = || service.anonymous(Method::GET, &path);
    assert_eq!(send(get()).await.0, 200);
    let revoke = format!("/v1/keys/{}", key["id"].as_str().unwrap());
    let revoked = send(service.request(Method::DELETE, &revoke)).await;
    assert_eq!(revoked.0, 204);
    assert_eq!(Problem::of(get()).await.kind(), (401, "unauthorized"));
}

#[tokio::test]
async fn no_token_is_made_with_an_invalid_lifetime_or_for_a_job_of_another_tenant() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let path = format!("/v1/jobs/{job}/tokens");
    for seconds in [json!(0), json!(86_401), json!(1.5), json!("600")] {
        let body = json!({"expires_in_seconds": seconds});
        let refused = Problem::of(service.request(Method::POST, &path).json(&body)).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{body}");
        assert_eq!(refused.errors()[0].0, "/expires_in_seconds", "{body}");
    }
    let other = create_key(&service.pool, "others", &[Scope::Jobs]).await;
    let create = service.anonymous(Method::POST, &path).bearer_auth(other);
    let absent = Problem::of(create.json(&json!({}))).await;
    assert_eq!(absent.kind(), (404, "not_found"));
}

#[tokio::test]
async fn events_may_come_without_names() {
    let service = Service::start().await;
    let job = service.create_shell("echo hi").await;
    service.finished(&job).await;
    let path = format!("/v1/jobs/{job}/stream?event_names=false&deltas=false");
    let mut stream = Stream::open(service.request(Method::GET, &path)).await;
    let events = stream.rest_raw().await;
    assert!(events.len() > 3);
    for event in &events {
        assert!(event.starts_with("id: "), "{event}");
        assert!(!event.contains("\nevent: "), "{event}");
        assert!(event.contains("\ndata: {\"seq\":"), "{event}");
    }
    assert!(
        events
            .last()
            .unwrap()
            .contains("\"type\":\"job.completed\"")
    );
}

#[tokio::test]
async fn a_stream_ends_cleanly_only_after_the_last_event() {
    let service = Service::start().await;
    let ended = service.create_shell("true").await;
    service.finished(&ended).await;
    let open = async |service: &Service, job: &str| {
        let mut raw = Raw::open(service).await;
        let key = &service.key;
        raw.send(&format!(
            "GET /v1/jobs/{job}/stream HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n"
        ))
        .await;
        raw
    };
    let whole = open(&service, &ended).await.rest().await;
    assert!(whole.ends_with("\r\n0\r\n\r\n"), "{whole}");
    let waits = json!({"skill": "shell", "model": "script/bash", "prompt": "x", "run_at": "2126-01-01T00:00:00Z"});
    let waits = service.create(&waits).await;
    let mut cut = open(&service, &waits).await;
    let mut begun = Vec::new();
    while !String::from_utf8_lossy(&begun).contains("job.queued") {
        assert!(
            cut.0.read_buf(&mut begun).await.unwrap() > 0,
            "it is cut too early"
        );
    }
    service.api.signal(Signal::TERM);
    let rest = String::from_utf8_lossy(&begun).into_owned() + &cut.rest().await;
    assert!(!rest.ends_with("0\r\n\r\n"), "{rest}");
}
