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
    assert!(page.contains("<div id=\"swagger-ui\">"), "{page}");
    let files = attributes(&page);
    assert!(files.len() >= 5, "{files:?}");
    for file in files {
        assert!(!file.contains("//"), "{file} is elsewhere");
        let content = get(
            &service,
            &format!("/docs/{}", file.trim_start_matches("./")),
        )
        .await;
        assert!(!content.is_empty(), "{file}");
        if file.ends_with(".css") {
            assert!(
                !content.contains("@import") && !content.contains("url(http"),
                "{file}"
            );
        }
    }
    let missing = service
        .anonymous(Method::GET, "/docs/none.js")
        .send()
        .await
        .unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn the_pages_show_this_document_and_tell_nobody_of_it() {
    let service = Service::without_worker().await;
    let script = get(&service, "/docs/swagger-initializer.js").await;
    assert!(script.contains(r#""url": "/openapi.json""#), "{script}");
    // What is left out here, the page has checked at validator.swagger.io.
    assert!(script.contains(r#""validatorUrl": "none""#), "{script}");
    assert!(!script.contains("://"), "{script}");
    assert!(document(&service).await["paths"].is_object());
}

async fn get(service: &Service, path: &str) -> String {
    let response = service.anonymous(Method::GET, path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    String::from_utf8_lossy(&response.bytes().await.unwrap()).into_owned()
}

/// What the page refers to.
fn attributes(page: &str) -> Vec<&str> {
    let starts = ["src=\"", "href=\""]
        .into_iter()
        .flat_map(|name| page.split(name).skip(1));
    starts.filter_map(|rest| rest.split('"').next()).collect()
}
