//! Linters for the document, and a fuzzer that tests the service against the document.

use reqwest::Method;
use serde_json::Value;

use super::document;
use crate::support::{Service, has_program, run_script};

/// Runs Redocly, Spectral and Schemathesis with `openapi/check/run`.
#[tokio::test]
async fn linters_and_a_fuzzer_find_nothing_wrong() {
    if !has_program("npm") || !has_program("python3") {
        return;
    }
    let service = Service::start().await;
    run_script(&service, "openapi/check/run", &[&service.url]).await;
}

/// The only difference is the description of the streams.
#[tokio::test]
async fn the_document_of_version_3_2_describes_the_events_of_streams() {
    let service = Service::without_worker().await;
    let mut older = document(&service).await;
    let request = service.anonymous(Method::GET, "/openapi-3.2.json");
    let newer: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(newer["openapi"], "3.2.0");
    older["openapi"] = newer["openapi"].clone();
    for path in ["~1v1~1jobs~1{job_id}~1stream", "~1v1~1events~1stream"] {
        let stream = format!("/paths/{path}/get/responses/200/content/text~1event-stream");
        let content = older.pointer_mut(&stream).unwrap();
        let event = content["schema"].clone();
        let new_content = newer.pointer(&stream).unwrap();
        assert_eq!(
            new_content["itemSchema"]["properties"]["data"]["contentSchema"],
            event
        );
        *content = new_content.clone();
    }
    assert_eq!(older, newer);
}
