//! The documentation pages.

use reqwest::{Method, StatusCode};

use super::document;
use crate::support::Service;

#[tokio::test]
async fn the_pages_come_whole_and_from_here() {
    let service = Service::without_worker().await;
    // Followed as a browser does.
    let page = get(&service, "/docs").await;
    let response = service
        .anonymous(Method::GET, "/docs/")
        .send()
        .await
        .unwrap();
    let policy = response.headers()["content-security-policy"]
        .to_str()
        .unwrap();
    assert!(policy.starts_with("default-src 'self'; "), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(response.headers()["x-content-type-options"], "nosniff");
    assert!(page.contains("spec-url=\"/openapi.json\""), "{page}");
    assert!(document(&service).await["paths"].is_object());
    let programs: Vec<_> = page.split("src=\"").skip(1).collect();
    let [program] = programs.as_slice() else {
        panic!("{page}");
    };
    let program = program.split('"').next().unwrap();
    let code = get(&service, &format!("/docs/{program}")).await;
    assert!(code.contains("Redoc"), "{program}");
    let missing = service
        .anonymous(Method::GET, "/docs/none.js")
        .send()
        .await
        .unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

async fn get(service: &Service, path: &str) -> String {
    let response = service.anonymous(Method::GET, path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    String::from_utf8_lossy(&response.bytes().await.unwrap()).into_owned()
}
