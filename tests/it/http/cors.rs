//! Requests from pages of other origins.

use reqwest::{Method, Response};

use crate::support::Service;

const PAGE: &str = "https://app.example.com";

async fn preflight(service: &Service, origin: &str, path: &str) -> Response {
    let request = service.anonymous(Method::OPTIONS, path);
    let request = request
        .header("Origin", origin)
        .header("Access-Control-Request-Method", "POST")
        .header(
            "Access-Control-Request-Headers",
            "authorization,content-type",
        );
    request.send().await.unwrap()
}

#[tokio::test]
async fn pages_of_allowed_origins_may_call_the_api_with_a_key() {
    let environment = [(
        "SKILLET_CORS_ORIGINS",
        "https://app.example.com,http://localhost:3000",
    )];
    let service = Service::with_environment(&environment).await;
    let allowed = preflight(&service, PAGE, "/v1/jobs").await;
    assert_eq!(allowed.status(), 204);
    let headers = allowed.headers();
    assert_eq!(headers["access-control-allow-origin"], PAGE);
    assert_eq!(headers["vary"], "Origin");
    let names = headers["access-control-allow-headers"].to_str().unwrap();
    assert!(names.contains("Authorization") && names.contains("Idempotency-Key"));
    assert!(!headers.contains_key("access-control-allow-credentials"));

    let get = service.request(Method::GET, "/v1/jobs");
    let read = get.header("Origin", PAGE).send().await.unwrap();
    assert_eq!(read.status(), 200);
    assert_eq!(read.headers()["access-control-allow-origin"], PAGE);
    let exposed = read.headers()["access-control-expose-headers"].to_str();
    assert!(exposed.unwrap().contains("X-Request-Id"));
    let refused = service.anonymous(Method::GET, "/v1/jobs");
    let refused = refused.header("Origin", PAGE).send().await.unwrap();
    assert_eq!(refused.status(), 401);
    assert_eq!(refused.headers()["access-control-allow-origin"], PAGE);
}

#[tokio::test]
async fn pages_of_other_origins_may_not() {
    let environment = [("SKILLET_CORS_ORIGINS", PAGE)];
    let service = Service::with_environment(&environment).await;
    for origin in ["https://evil.example.com", "http://app.example.com", "null"] {
        let refused = preflight(&service, origin, "/v1/jobs").await;
        assert_eq!(refused.status(), 403, "{origin}");
        let kind = &refused.headers()["content-type"];
        assert_eq!(kind, "application/problem+json");
        assert!(
            !refused
                .headers()
                .contains_key("access-control-allow-origin")
        );
        let get = service.request(Method::GET, "/v1/jobs");
        let read = get.header("Origin", origin).send().await.unwrap();
        assert!(!read.headers().contains_key("access-control-allow-origin"));
    }
    let closed = Service::without_worker().await;
    assert_eq!(preflight(&closed, PAGE, "/v1/jobs").await.status(), 403);
}
