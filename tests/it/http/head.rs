//! HEAD requests and response headers.

use reqwest::{Method, Response};
use serde_json::json;

use crate::support::Service;
use crate::support::problem::Problem;

#[tokio::test]
async fn head_is_answered_wherever_get_is() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let asset = service.upload("a.txt", "0123456789").await;
    let asset = asset["id"].as_str().unwrap();
    let paths = [
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/docs/",
        "/docs/redoc-2.5.4.js",
        "/v1/jobs",
        "/v1/skills",
        "/v1/skills/shell",
        "/v1/agents/default",
        "/v1/queue",
        "/v1/jobs/abc",
        "/v1/nothing",
        &*format!("/v1/jobs/{job}"),
        &*format!("/v1/jobs/{job}/events"),
        &*format!("/v1/assets/{asset}"),
        &*format!("/v1/assets/{asset}/content"),
    ];
    for path in paths {
        let get = service.request(Method::GET, path).send().await.unwrap();
        let head = service.request(Method::HEAD, path).send().await.unwrap();
        assert_eq!(head.status(), get.status(), "{path}");
        assert_eq!(fixed_headers(&head), fixed_headers(&get), "{path}");
        assert!(head.headers().contains_key("content-length"), "{path}");
        assert_eq!(head.bytes().await.unwrap(), "", "{path}");
    }
    // A HEAD request does not follow the job.
    let stream = service.request(Method::HEAD, &format!("/v1/jobs/{job}/stream"));
    let stream = stream.send().await.unwrap();
    assert_eq!(stream.status(), 200);
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    assert_eq!(stream.bytes().await.unwrap(), "");

    let anonymous = service.anonymous(Method::HEAD, "/v1/jobs");
    assert_eq!(anonymous.send().await.unwrap().status(), 401);
    let posted = service.request(Method::HEAD, &format!("/v1/jobs/{job}/cancel"));
    let posted = posted.send().await.unwrap();
    assert_eq!(posted.status(), 405);
    assert_eq!(posted.headers()["allow"], "POST");
}

/// Returns the headers that are the same in each response.
fn fixed_headers(response: &Response) -> Vec<(String, String)> {
    let headers = response.headers().iter();
    let fixed = headers
        .filter(|(name, _)| !["date", "content-length", "x-request-id"].contains(&name.as_str()));
    let mut fixed: Vec<_> = fixed
        .map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect();
    fixed.sort();
    fixed
}

#[tokio::test]
async fn no_answer_is_kept_or_taken_for_a_page() {
    let service = Service::without_worker().await;
    let (_, tenants) = service.get("/v1/tenants").await;
    let key = json!({"tenant_id": tenants["data"][0]["id"], "name": "ci"});
    let made = service.request(Method::POST, "/v1/keys").json(&key);
    let made = made.send().await.unwrap();
    assert_eq!(made.status(), 201);
    let refused = Problem::of(service.anonymous(Method::GET, "/v1/jobs")).await;
    let listed = service
        .request(Method::GET, "/v1/jobs")
        .send()
        .await
        .unwrap();
    for headers in [made.headers(), &refused.headers, listed.headers()] {
        assert_eq!(headers["cache-control"], "no-store");
        assert_eq!(headers["x-content-type-options"], "nosniff");
        let policy = "default-src 'none'; frame-ancestors 'none'";
        assert_eq!(headers["content-security-policy"], policy);
    }
}
