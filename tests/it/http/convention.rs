//! Conventions of all responses.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::problem::Problem;
use crate::support::{Service, bash};

#[tokio::test]
async fn every_answer_has_a_request_id_and_keeps_the_clients() {
    let service = Service::without_worker().await;
    for path in ["/healthz", "/v1/jobs", "/v1/nothing", "/docs/errors"] {
        let response = service.request(Method::GET, path).send().await.unwrap();
        let id = response.headers()["x-request-id"].to_str().unwrap();
        assert!(id.starts_with("req_") && id.len() == 36, "{path}: {id}");
        let request = service.request(Method::GET, path);
        let response = request.header("X-Request-Id", "order-4711").send().await;
        let response = response.unwrap();
        assert_eq!(response.headers()["x-request-id"], "order-4711", "{path}");
    }
    let request = service.request(Method::GET, "/v1/nothing");
    let refused = request.header("X-Request-Id", "mine").send().await.unwrap();
    assert_eq!(refused.json::<Value>().await.unwrap()["request_id"], "mine");
    for unusable in ["with space", &"x".repeat(129)] {
        let request = service.request(Method::GET, "/v1/jobs");
        let response = request.header("X-Request-Id", unusable).send().await;
        let response = response.unwrap();
        let id = response.headers()["x-request-id"].to_str().unwrap();
        assert!(id.starts_with("req_"), "{id}");
    }
}

#[tokio::test]
async fn every_code_of_a_problem_has_a_page() {
    let service = Service::without_worker().await;
    let page = async |path: &str| {
        let response = service.anonymous(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let kind = response.headers()["content-type"].to_str().unwrap();
        assert!(kind.starts_with("text/html"), "{path}: {kind}");
        response.text().await.unwrap()
    };
    let index = page("/docs/errors").await;
    for code in api::problem::ErrorCode::ALL {
        let path = format!("/docs/errors/{}", code.as_str());
        assert!(index.contains(&path), "{path}");
        assert!(page(&path).await.contains("What to do"), "{path}");
    }
    let none = Problem::of(service.anonymous(Method::GET, "/docs/errors/none")).await;
    assert_eq!(none.kind(), (404, "not_found"));
}

#[tokio::test]
async fn the_root_leads_to_the_console() {
    let service = Service::without_worker().await;
    let response = service.anonymous(Method::GET, "/").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(response.url().path(), "/console/");
}

#[tokio::test]
async fn a_polled_job_is_sent_again_only_when_it_has_changed() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let path = format!("/v1/jobs/{job}");
    let first = service.request(Method::GET, &path).send().await.unwrap();
    assert_eq!(first.headers()["cache-control"], "private, no-cache");
    let tag = first.headers()["etag"].to_str().unwrap().to_owned();
    let again = async || {
        let request = service.request(Method::GET, &path);
        request.header("If-None-Match", &tag).send().await.unwrap()
    };
    let same = again().await;
    assert_eq!(same.status(), StatusCode::NOT_MODIFIED);
    assert_eq!(same.headers()["etag"], *tag);
    assert_eq!(same.headers()["vary"], first.headers()["vary"]);
    assert_eq!(same.bytes().await.unwrap(), "");
    service.post(&format!("{path}/cancel"), &Value::Null).await;
    let changed = again().await;
    assert_eq!(changed.status(), 200);
    assert_ne!(changed.headers()["etag"], *tag);
}

#[tokio::test]
async fn json_is_compressed_for_those_who_accept_it() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let get = async |path: &str, accepted: &str| {
        let request = service.request(Method::GET, path);
        request
            .header("Accept-Encoding", accepted)
            .send()
            .await
            .unwrap()
    };
    let packed = get("/openapi.json", "br, gzip").await;
    assert_eq!(packed.headers()["content-encoding"], "gzip");
    assert_eq!(packed.headers()["vary"], "Accept-Encoding");
    let packed = packed.bytes().await.unwrap();
    let mut unpacked = Vec::new();
    let mut decoder = flate2::read::GzDecoder::new(&packed[..]);
    std::io::Read::read_to_end(&mut decoder, &mut unpacked).unwrap();
    let plain = get("/openapi.json", "identity").await;
    assert!(!plain.headers().contains_key("content-encoding"));
    assert_eq!(plain.bytes().await.unwrap(), unpacked);
    assert!(packed.len() * 4 < unpacked.len());
    for path in ["/v1/jobs?limit=1", &format!("/v1/jobs/{job}/stream")] {
        let small = get(path, "gzip").await;
        assert!(!small.headers().contains_key("content-encoding"), "{path}");
    }
}

#[tokio::test]
async fn an_answer_says_that_it_waited() {
    let service = Service::without_worker().await;
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    let send = async |prefer: &str| {
        let request = service.request(Method::POST, "/v1/jobs").json(&body);
        request.header("Prefer", prefer).send().await.unwrap()
    };
    let waited = send("wait=0").await;
    assert_eq!(waited.headers()["preference-applied"], "wait=0");
    let ignored = send("respond-async").await;
    assert!(!ignored.headers().contains_key("preference-applied"));
}

#[tokio::test]
async fn answers_to_submissions_say_what_remains_of_the_rate() {
    let service = Service::without_worker().await;
    let (_, me) = service.get("/v1/me").await;
    let tenant = me["tenant"]["id"].as_str().unwrap();
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    let send = async || {
        let request = service.request(Method::POST, "/v1/jobs").json(&body);
        request.send().await.unwrap()
    };
    let free = send().await;
    assert!(!free.headers().contains_key("ratelimit"));
    let path = format!("/v1/tenants/{tenant}/submission_limits");
    let limits = json!({"submit_rate": {"per_minute": 1, "burst": 3}});
    let put = service.request(Method::PUT, &path).json(&limits);
    assert_eq!(put.send().await.unwrap().status(), 200);
    for remaining in [2, 1, 0] {
        let answer = send().await;
        assert_eq!(answer.status(), 202);
        assert_eq!(answer.headers()["ratelimit-policy"], "\"submit\";q=3;w=180");
        let limit = answer.headers()["ratelimit"].to_str().unwrap();
        let expected = format!("\"submit\";r={remaining};t=");
        assert!(limit.starts_with(&expected), "{limit}");
    }
    let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
    assert_eq!(refused.kind(), (429, "submit_rate_exceeded"));
}

#[tokio::test]
async fn all_type_errors_of_a_body_are_said_at_once() {
    let service = Service::without_worker().await;
    let body =
        json!({"prompt": 5, "priority": "high", "inputs": [{"asset_id": "x"}], "colour": "red"});
    let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&body)).await;
    assert_eq!(refused.kind(), (422, "invalid_request"));
    let mut errors = refused.errors();
    errors.sort_unstable();
    let pointers: Vec<_> = errors.iter().map(|(pointer, _)| *pointer).collect();
    assert_eq!(
        pointers,
        ["/colour", "/inputs/0/asset_id", "/priority", "/prompt"]
    );
    assert!(
        errors[0]
            .1
            .starts_with("unknown field `colour`; known fields: skill,")
    );
    let expected = "must be the id of an asset, such as asst_019aa0c45e8d70008000000000000000";
    assert_eq!(errors[1].1, expected);
    assert_eq!(errors[2].1, "must be a whole number, not a string");
    assert_eq!(errors[3].1, "must be a string, not a number");
    let empty = Problem::of(service.request(Method::POST, "/v1/jobs").json(&json!({}))).await;
    assert_eq!(empty.errors(), [("/prompt", "is required")]);
}
