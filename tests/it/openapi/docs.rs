//! The documentation pages.

use reqwest::{Method, StatusCode};

use super::document;
use crate::support::Service;

#[tokio::test]
async fn the_pages_come_whole_and_from_here() {
    let service = Service::without_worker().await;
    // Load the page and its script, as a browser does.
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

#[tokio::test]
async fn the_guides_are_pages_that_link_to_each_other() {
    let service = Service::without_worker().await;
    let list = get(&service, "/docs/guides").await;
    let names: Vec<_> = list.split("href=\"/docs/guides/").skip(1).collect();
    assert!(names.len() > 10, "{list}");
    for name in names {
        let name = name.split('"').next().unwrap();
        let page = get(&service, &format!("/docs/guides/{name}")).await;
        assert!(page.contains("<h1 id=") && page.contains("<nav>"), "{page}");
    }
    let missing = service.anonymous(Method::GET, "/docs/guides/none");
    assert_eq!(
        missing.send().await.unwrap().status(),
        StatusCode::NOT_FOUND
    );
}

async fn get(service: &Service, path: &str) -> String {
    let response = service.anonymous(Method::GET, path).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{path}");
    String::from_utf8_lossy(&response.bytes().await.unwrap()).into_owned()
}
