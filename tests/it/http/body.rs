//! Slow, compressed and oversized bodies.

use std::time::Duration;

use reqwest::Method;
use tokio::io::AsyncReadExt;

use super::{Raw, TIMEOUT};
use crate::support::Service;
use crate::support::problem::Problem;

#[tokio::test]
async fn a_body_that_crawls_is_refused() {
    let service = Service::without_worker().await;
    let mut answers = Vec::new();
    for (path, content_type) in [
        ("/v1/jobs", "application/json"),
        ("/v1/assets", "multipart/form-data; boundary=b"),
    ] {
        let mut connection = Raw::open(&service).await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {}\r\nContent-Type: {content_type}\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
            service.key,
        );
        connection.send(&head).await;
        answers.push(crawl(connection));
    }
    for answer in futures_util::future::join_all(answers).await {
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
        assert!(answer.contains("\"code\":\"body_too_slow\""), "{answer}");
    }
}

/// Sends a byte now and then until there is a response.
async fn crawl(mut connection: Raw) -> String {
    let crawling = async {
        let mut pauses = tokio::time::interval(Duration::from_millis(500));
        loop {
            let mut answer = vec![0; 4096];
            tokio::select! {
                read = connection.0.read(&mut answer) => {
                    answer.truncate(read.unwrap());
                    return String::from_utf8(answer).unwrap();
                }
                _ = pauses.tick() => connection.send("1\r\n \r\n").await,
            }
        }
    };
    let answer = tokio::time::timeout(TIMEOUT, crawling).await;
    answer.expect("it may crawl")
}

#[tokio::test]
async fn a_compressed_body_is_refused_as_such() {
    let service = Service::without_worker().await;
    for (path, content_type) in [
        ("/v1/jobs", "application/json"),
        ("/v1/assets", "multipart/form-data; boundary=b"),
    ] {
        let request = service.request(Method::POST, path).body("\u{1f}");
        let request = request.header("Content-Type", content_type);
        let refused = Problem::of(request.header("Content-Encoding", "gzip")).await;
        assert_eq!(refused.kind(), (415, "unsupported_media_type"), "{path}");
        assert!(
            refused.detail().contains("`Content-Encoding`"),
            "{refused:?}"
        );
    }
    let request = service.request(Method::POST, "/v1/tenants");
    let request = request.header("Content-Type", "application/json");
    let plain = request.header("Content-Encoding", "identity");
    let made = plain.body("{\"name\": \"acme\"}").send().await.unwrap();
    assert_eq!(made.status(), 201);
}

#[tokio::test]
async fn a_body_may_be_long_but_not_of_very_many_values() {
    let service = Service::without_worker().await;
    let good = |metadata: &str| {
        format!(
            r#"{{"skill": "shell", "model": "script/bash", "prompt": "x", "metadata": {{"a": {metadata}}}}}"#
        )
    };
    let send = |body: String| {
        let request = service.request(Method::POST, "/v1/jobs");
        request
            .header("Content-Type", "application/json")
            .body(body)
    };
    let many = Problem::of(send(good(&format!("[{}0]", "0,".repeat(1_000_000))))).await;
    assert_eq!(many.kind(), (413, "too_large"));
    assert!(many.detail().contains("200000 values"), "{many:?}");
    let long = Problem::of(send(good(&format!("\"{}\"", "[,".repeat(1_000_000))))).await;
    assert_eq!(long.errors()[0].0, "/metadata", "{long:?}");
    // Only requests for jobs may contain files and be this large.
    let request = service.request(Method::POST, "/v1/tenants");
    let request = request.header("Content-Type", "application/json");
    let large = Problem::of(request.body(" ".repeat(1_100_000))).await;
    assert_eq!(large.kind(), (413, "too_large"));
}
