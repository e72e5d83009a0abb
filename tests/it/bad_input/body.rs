//! Invalid bodies.

use futures_util::stream;
use reqwest::{Body, Method};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::assert_untouched;
use crate::support::Service;
use crate::support::problem::Problem;

#[tokio::test]
async fn a_body_that_is_no_json_is_malformed() {
    let service = Service::without_worker().await;
    let deep = "[".repeat(100_000);
    let nested = format!(r#"{{"metadata":{{"a":{deep}"#);
    let bodies = [
        "",
        "{",
        "nonsense",
        r#"{"prompt": "x"} {}"#,
        r#"{"prompt": 'x'}"#,
        &nested,
    ];
    for body in bodies
        .map(str::as_bytes)
        .into_iter()
        .chain([&b"{\"prompt\": \"\xff\"}"[..]])
    {
        let request = service.request(Method::POST, "/v1/jobs");
        let request = request.header("Content-Type", "application/json");
        let refused = Problem::of(request.body(body.to_vec())).await;
        assert_eq!(refused.kind(), (400, "malformed_request"), "{refused:?}");
        assert!(
            refused.detail().starts_with("the body is not JSON: "),
            "{refused:?}"
        );
    }
    assert_untouched(&service).await;
}

#[tokio::test]
async fn a_body_that_is_no_object_is_invalid() {
    let service = Service::without_worker().await;
    // A list of the fields' values in order is not accepted.
    let list = json!([
        "shell",
        null,
        "x",
        "script/bash",
        [],
        {},
        {},
        0,
        null,
        null,
        {}
    ]);
    for body in [json!([]), list, json!(5), json!("text"), json!(null)] {
        let request = service.request(Method::POST, "/v1/jobs");
        let refused = Problem::of(request.json(&body)).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{body}");
        assert_eq!(refused.errors()[0].0, "", "{body}");
        assert!(refused.errors()[0].1.contains("an object"), "{refused:?}");
    }
    assert_untouched(&service).await;
}

#[tokio::test]
async fn a_missing_field_is_named() {
    let service = Service::without_worker().await;
    let refused = Problem::of(service.request(Method::POST, "/v1/jobs").json(&json!({}))).await;
    assert_eq!(refused.errors(), [("/prompt", "is required")]);
    let body = json!({"jobs": [{"prompt": "x"}, {}]});
    let refused = Problem::of(service.request(Method::POST, "/v1/jobs/batch").json(&body)).await;
    assert_eq!(refused.errors(), [("/jobs/1/prompt", "is required")]);
}

#[tokio::test]
async fn only_json_is_read_as_json() {
    let service = Service::without_worker().await;
    let body = json!({"skill": "shell", "prompt": "x", "model": "script/bash"}).to_string();
    let types = [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ];
    for content_type in types.map(Some).into_iter().chain([None]) {
        let mut request = service.request(Method::POST, "/v1/jobs").body(body.clone());
        if let Some(content_type) = content_type {
            request = request.header("Content-Type", content_type);
        }
        let refused = Problem::of(request).await;
        assert_eq!(
            refused.kind(),
            (415, "unsupported_media_type"),
            "{content_type:?}"
        );
        assert!(
            refused
                .detail()
                .contains("`Content-Type: application/json`")
        );
    }
    assert_untouched(&service).await;

    let request = service.request(Method::POST, "/v1/jobs");
    let request = request.header("Content-Type", "Application/JSON; charset=utf-8");
    assert_eq!(request.body(body).send().await.unwrap().status(), 202);
}

#[tokio::test]
async fn a_body_of_a_hundred_megabytes_is_refused_and_its_sender_told() {
    let service = Service::without_worker().await;
    let before = service.api.resident_kilobytes();
    let pieces = (0..100).map(|_| Ok::<_, std::io::Error>(vec![b' '; 1 << 20]));
    let request = service.request(Method::POST, "/v1/jobs");
    let request = request.header("Content-Type", "application/json");
    let refused = Problem::of(request.body(Body::wrap_stream(stream::iter(pieces)))).await;
    assert_eq!(refused.kind(), (413, "too_large"));
    assert!(refused.detail().contains("POST /v1/assets"), "{refused:?}");

    let answer = write_then_read(&service, 100).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.contains("\"code\":\"too_large\""), "{answer}");

    let grown = service.api.resident_kilobytes().saturating_sub(before);
    assert!(grown < 80 * 1024, "it was kept: {grown} KB");
    assert_untouched(&service).await;
    service
        .create(&json!({"skill": "shell", "prompt": "x", "model": "script/bash"}))
        .await;
}

/// Sends the whole body before it reads the response, like some clients do.
async fn write_then_read(service: &Service, megabytes: usize) -> String {
    let address = service.url.trim_start_matches("http://");
    let mut connection = TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /v1/jobs HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\
         Content-Type: application/json\r\nConnection: close\r\n\r\n",
        service.key,
        megabytes << 20,
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..megabytes {
        connection.write_all(&[b' '; 1 << 20]).await.unwrap();
    }
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn a_form_for_an_upload_has_one_part_named_file() {
    use reqwest::multipart::{Form, Part};
    let service = Service::without_worker().await;
    let part = || Part::bytes(b"content".to_vec()).file_name("a.txt");
    let large = Part::bytes(vec![0; 5 << 20]).file_name("large.bin");
    let forms = [
        Form::new(),
        Form::new().part("document", part()),
        Form::new().part("file", part()).part("file", part()),
        Form::new().part("file", part()).text("note", "x"),
        Form::new().part("file", large).text("note", "x"),
    ];
    for form in forms {
        let request = service.request(Method::POST, "/v1/assets");
        let refused = Problem::of(request.multipart(form)).await;
        assert_eq!(refused.kind(), (400, "malformed_request"));
    }
    let cut = "--b\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nhalf";
    for (content_type, body, expected) in [
        (
            "multipart/form-data; boundary=b",
            cut,
            (400, "malformed_request"),
        ),
        ("multipart/form-data", cut, (400, "malformed_request")),
        ("application/json", "{}", (415, "unsupported_media_type")),
    ] {
        let request = service.request(Method::POST, "/v1/assets").body(body);
        let refused = Problem::of(request.header("Content-Type", content_type)).await;
        assert_eq!(refused.kind(), expected, "{content_type}");
    }
    let refused = Problem::of(service.request(Method::POST, "/v1/assets")).await;
    assert_eq!(refused.kind(), (415, "unsupported_media_type"));
    assert_untouched(&service).await;
}

#[tokio::test]
async fn what_admins_make_is_checked_too() {
    let service = Service::without_worker().await;
    let (_, tenants) = service.get("/v1/tenants").await;
    let tenant = tenants["data"][0]["id"].clone();
    let long = "x".repeat(101);
    let cases: [(&str, Value, &str); 10] = [
        ("/v1/tenants", json!({"name": " "}), "/name"),
        ("/v1/tenants", json!({"name": long}), "/name"),
        ("/v1/tenants", json!({"name": "a\0b"}), "/name"),
        ("/v1/tenants", json!({"name": "a", "id": 1}), "/id"),
        (
            "/v1/keys",
            json!({"tenant_id": tenant, "name": ""}),
            "/name",
        ),
        (
            "/v1/keys",
            json!({"tenant_id": tenant, "name": "a\nb"}),
            "/name",
        ),
        (
            "/v1/keys",
            json!({"tenant_id": tenant, "name": "a", "scopes": []}),
            "/scopes",
        ),
        (
            "/v1/keys",
            json!({"tenant_id": tenant, "name": "a", "scopes": ["root"]}),
            "/scopes/0",
        ),
        (
            "/v1/keys",
            json!({"tenant_id": shared::id::TenantId::new(), "name": "a"}),
            "/tenant_id",
        ),
        (
            "/v1/keys",
            json!({"tenant_id": "default", "name": "a"}),
            "/tenant_id",
        ),
    ];
    for (path, body, place) in cases {
        let refused = Problem::of(service.request(Method::POST, path).json(&body)).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{body}");
        let pointers: Vec<_> = refused
            .errors()
            .iter()
            .map(|(pointer, _)| *pointer)
            .collect();
        assert_eq!(pointers, [place], "{body}");
    }
}
