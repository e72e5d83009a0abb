//! The document before linters, and the service before a fuzzer that reads the document.

use std::path::Path;
use std::process::Stdio;

use tokio::process::Command;

use super::client::CANNOT_INSTALL;
use crate::support::{Service, has_program, is_all_required};

/// Redocly, Spectral and Schemathesis, by `openapi/check/run`.
#[tokio::test]
async fn linters_and_a_fuzzer_find_nothing_wrong() {
    if !has_program("npm") || !has_program("python3") {
        return;
    }
    let service = Service::start().await;
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../openapi/check/run");
    let output = Command::new(script)
        .arg(&service.url)
        .env("SKILLET_API_KEY", &service.key)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    if output.status.code() == Some(CANNOT_INSTALL) && !is_all_required() {
        eprintln!("left out: the checkers cannot be installed here");
        return;
    }
    let told = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}\n{errors}");
}

/// What differs is how streams are described.
#[tokio::test]
async fn the_document_of_version_3_2_describes_the_events_of_streams() {
    let service = Service::without_worker().await;
    let mut older = super::document(&service).await;
    let request = service.anonymous(reqwest::Method::GET, "/openapi-3.2.json");
    let newer: serde_json::Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(newer["openapi"], "3.2.0");
    older["openapi"] = newer["openapi"].clone();
    let stream = "/paths/~1v1~1jobs~1{job_id}~1stream/get/responses/200/content/text~1event-stream";
    let content = older.pointer_mut(stream).unwrap();
    let event = content["schema"].clone();
    let new_content = newer.pointer(stream).unwrap();
    assert_eq!(
        new_content["itemSchema"]["properties"]["data"]["contentSchema"],
        event
    );
    *content = new_content.clone();
    assert_eq!(older, newer);
}
