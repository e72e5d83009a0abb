//! Invalid agents, and invalid jobs of agents.

use reqwest::Method;
use serde_json::{Value, json};

use super::put;
use crate::support::Service;
use crate::support::problem::Problem;

async fn refusal(service: &Service, body: &Value) -> Problem {
    Problem::of(service.request(Method::PUT, "/v1/agents/a").json(body)).await
}

#[tokio::test]
async fn all_that_is_wrong_is_said_at_once() {
    let service = Service::without_worker().await;
    let body = json!({
        "soul": " ",
        "model": "nobody/x",
        "tools": ["shell.exec", "bash", "shell.exec"],
        "hooks": {"confirm": ["shell.*", "shel.*"], "silent": [""]},
        "limits": {"timeout_seconds": 0, "max_tokens": 1_000_000},
        "instructions": "x".repeat(64 * 1024 + 1),
        "network": "public github.com",
        "secrets": ["KEY", "path", "KEY?"]
    });
    let refused = refusal(&service, &body).await;
    assert_eq!(refused.kind(), (422, "invalid_request"));
    let pointers: Vec<_> = refused
        .errors()
        .iter()
        .map(|(pointer, _)| *pointer)
        .collect();
    let expected = [
        "/soul",
        "/instructions",
        "/secrets/1",
        "/secrets/2",
        "/model",
        "/tools/1",
        "/tools/2",
        "/hooks/confirm/1",
        "/hooks/silent/0",
        "/limits/timeout_seconds",
        "/limits/max_tokens",
        "/network",
    ];
    assert_eq!(pointers, expected, "{refused:?}");
    assert!(
        refused.errors()[5]
            .1
            .starts_with("there is no tool `bash`; there are: ")
    );

    for (network, words) in [
        ("parameter:url", "an agent has no parameters"),
        ("secret:KEY", "is not one of the secrets"),
        ("https://github.com", "is a URL"),
    ] {
        let refused = refusal(&service, &json!({"soul": "I am.", "network": network})).await;
        let [("/network", detail)] = refused.errors()[..] else {
            panic!("{refused:?}")
        };
        assert!(detail.contains(words), "{detail}");
    }
    assert_eq!(
        service.get("/v1/agents").await.1["data"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_body_of_another_shape_is_refused_with_the_place() {
    let service = Service::without_worker().await;
    for (body, pointer) in [
        (json!({}), "/soul"),
        (json!({"soul": 5}), "/soul"),
        (json!({"soul": "x", "sole": "x"}), "/sole"),
        (json!({"soul": "x", "tools": "shell.exec"}), "/tools"),
        (json!({"soul": "x", "hooks": {"ask": []}}), "/hooks/ask"),
        (
            json!({"soul": "x", "limits": {"turns": 5}}),
            "/limits/turns",
        ),
    ] {
        let refused = refusal(&service, &body).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{body}");
        assert_eq!(refused.errors()[0].0, pointer, "{refused:?}");
    }
    for name in ["A", "a--b", "-a", "a_b", "a%20b", "%00", &"a".repeat(65)] {
        let request = service.request(Method::PUT, &format!("/v1/agents/{name}"));
        let refused = Problem::of(request.json(&json!({"soul": "x"}))).await;
        assert_eq!(refused.kind(), (400, "malformed_request"), "{name}");
        let refused =
            Problem::of(service.request(Method::GET, &format!("/v1/agents/{name}"))).await;
        assert_eq!(refused.kind(), (404, "not_found"), "{name}");
    }
}

#[tokio::test]
async fn a_job_of_an_agent_is_checked_like_any_other() {
    let service = Service::without_worker().await;
    put(
        &service,
        "needy",
        &json!({"soul": "x", "secrets": ["API_KEY", "OTHER?"]}),
    )
    .await;
    for (body, pointer, words) in [
        (
            json!({"agent": "none"}),
            "/agent",
            "there is no agent `none`",
        ),
        (json!({"agent": "no\u{0}ne"}), "/agent", "NUL"),
        (
            json!({"agent": "default", "skill": "shell"}),
            "/agent",
            "not both",
        ),
        (
            json!({"agent": "default", "parameters": {"a": 1}}),
            "/parameters",
            "no parameters",
        ),
        (
            json!({"agent": "needy"}),
            "/agent",
            "secrets that are not set: API_KEY; set them with PUT",
        ),
    ] {
        let mut body = body;
        body["prompt"] = json!("x");
        body["model"] = json!("script/bash");
        let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
        let [(at, detail)] = refused.errors()[..] else {
            panic!("{refused:?}")
        };
        assert_eq!(at, pointer, "{refused:?}");
        assert!(detail.contains(words), "{detail}");
    }
    let (_, jobs) = service.get("/v1/jobs").await;
    assert_eq!(jobs["data"], json!([]));
}
