//! The character NUL (U+0000), which no text may have.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use super::assert_untouched;
use crate::support::Service;
use crate::support::problem::Problem;

#[tokio::test]
async fn a_nul_is_refused_in_every_text_of_a_body_and_the_place_is_named() {
    let service = Service::without_worker().await;
    let job = |field: &str, value: Value| {
        let mut body = json!({"skill": "shell", "model": "script/bash", "prompt": "x"});
        body[field] = value;
        body
    };
    let post = [
        ("/v1/jobs", job("prompt", json!("a\0b")), "/prompt"),
        ("/v1/jobs", job("skill", json!("\0")), "/skill"),
        ("/v1/jobs", job("model", json!("script/\0")), "/model"),
        (
            "/v1/jobs",
            job("parameters", json!({"a": ["\0"]})),
            "/parameters/a/0",
        ),
        (
            "/v1/jobs",
            job("metadata", json!({"a/b": {"c": "\0"}})),
            "/metadata/a~1b/c",
        ),
        ("/v1/jobs", job("metadata", json!({"\0": 1})), "/metadata"),
        (
            "/v1/jobs",
            job(
                "inputs",
                json!([{"data": STANDARD.encode("x"), "name": "a\0.txt"}]),
            ),
            "/inputs/0/name",
        ),
        (
            "/v1/jobs",
            job("inputs", json!([{"url": "https://example.com/\0"}])),
            "/inputs/0/url",
        ),
        (
            "/v1/jobs",
            job("hooks", json!({"confirm": ["shell.*", "\0"]})),
            "/hooks/confirm/1",
        ),
        (
            "/v1/jobs/batch",
            json!({"jobs": [job("priority", json!(0)), job("prompt", json!("\0"))]}),
            "/jobs/1/prompt",
        ),
        ("/v1/conversations", json!({"agent": "\0"}), "/agent"),
        (
            "/v1/conversations",
            json!({"metadata": {"a": "\0"}}),
            "/metadata/a",
        ),
        ("/v1/tenants", json!({"name": "a\0b"}), "/name"),
        (
            "/v1/keys",
            json!({"tenant_id": shared::id::TenantId::new(), "name": "a\0b"}),
            "/name",
        ),
        (
            &format!("/v1/approvals/{}", shared::id::ApprovalId::new()),
            json!({"decision": "deny", "reason": "\0"}),
            "/reason",
        ),
    ];
    let post = post
        .into_iter()
        .map(|(path, body, place)| (Method::POST, path, body, place));
    let agent = json!({"soul": "I am.", "instructions": "\0"});
    let server = json!({"soul": "I am.", "mcp_servers": [{"name": "a", "command": ["x\0"]}]});
    let put = [
        ("/v1/agents/a", agent, "/instructions"),
        ("/v1/agents/a", json!({"soul": "\0"}), "/soul"),
        ("/v1/agents/a", server, "/mcp_servers/0/command/0"),
        (
            "/v1/secrets/MY_KEY",
            json!({"value": "hunter2\0hunter2"}),
            "/value",
        ),
    ];
    let put = put
        .into_iter()
        .map(|(path, body, place)| (Method::PUT, path, body, place));
    for (method, path, body, place) in post.chain(put) {
        let refused = Problem::of(service.request(method, path).json(&body)).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{path} {body}");
        let detail = "must not contain the character NUL (U+0000)";
        assert_eq!(refused.errors(), [(place, detail)], "{path} {body}");
    }
    assert_untouched(&service).await;

    // An escaped backslash before `u0000` is ordinary text.
    let escaped = service.create(&job("prompt", json!("a\\u0000b"))).await;
    assert_eq!(service.get(&format!("/v1/jobs/{escaped}")).await.0, 200);
}
