//! Downloads from the bucket itself, by presigned URLs.

use reqwest::{Client, Method, Response, redirect};
use serde_json::{Value, json};
use skillet_client::Client as SkilletClient;

use crate::support::{S3, Service};

const CONTENT: &[u8] = b"<p>h\xc3\xa9llo</p>";

async fn presigning(s3: &S3) -> Service {
    super::service_with(s3, &[("SKILLET_PRESIGNED_DOWNLOADS", "true")]).await
}

/// Sends a download request and returns the response itself, even if it is a redirect.
async fn get(service: &Service, asset: &Value, headers: &[(&str, &str)]) -> Response {
    let client = Client::builder().redirect(redirect::Policy::none());
    let url = format!("{}{}", service.url, asset["content_url"].as_str().unwrap());
    let mut request = client.build().unwrap().get(url);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn a_client_with_a_key_is_sent_to_the_bucket_with_the_headers_of_the_file() {
    let Some(s3) = S3::start().await else { return };
    let service = presigning(&s3).await;
    let asset = service.upload("h\u{e9}llo.html", CONTENT).await;
    let key = format!("Bearer {}", service.key);
    let redirect = get(&service, &asset, &[("authorization", &key)]).await;
    assert_eq!(redirect.status(), 307);
    assert_eq!(redirect.headers()["cache-control"], "no-store");
    let location = redirect.headers()["location"].to_str().unwrap();
    assert!(location.contains("X-Amz-Expires=300"), "{location}");

    // The presigned URL needs no API key.
    let content = Client::new().get(location).send().await.unwrap();
    assert_eq!(content.status(), 200);
    assert_eq!(content.headers()["content-type"], "text/html");
    assert_eq!(
        content.headers()["content-disposition"],
        "attachment; filename*=UTF-8''h%C3%A9llo%2Ehtml"
    );
    assert_eq!(content.bytes().await.unwrap(), CONTENT);
    let range = Client::new().get(location).header("range", "bytes=3-4");
    let range = range.send().await.unwrap();
    assert_eq!(
        (range.status().as_u16(), &*range.bytes().await.unwrap()),
        (206, &CONTENT[3..5])
    );
    assert_eq!(get(&service, &asset, &[]).await.status(), 401);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn what_the_bucket_cannot_answer_and_pages_get_the_content_from_the_api() {
    let Some(s3) = S3::start().await else { return };
    let service = presigning(&s3).await;
    let asset = service.upload("a.txt", CONTENT).await;
    let key = format!("Bearer {}", service.key);
    let etag = format!("\"{}\"", asset["sha256"].as_str().unwrap());
    let path = asset["content_url"].as_str().unwrap();
    let head = service.request(Method::HEAD, path).send().await.unwrap();
    assert_eq!(
        (
            head.status().as_u16(),
            head.headers()["etag"].to_str().unwrap()
        ),
        (200, &*etag)
    );
    let fresh = [("authorization", &*key), ("if-none-match", &etag)];
    assert_eq!(get(&service, &asset, &fresh).await.status(), 304);
    let rest = [
        ("authorization", &*key),
        ("if-range", &etag),
        ("range", "bytes=3-"),
    ];
    let rest = get(&service, &asset, &rest).await;
    assert_eq!(
        (rest.status().as_u16(), &*rest.bytes().await.unwrap()),
        (206, &CONTENT[3..])
    );

    // The console signs in with a cookie.
    let session = json!({"key": service.key});
    let session = Client::new()
        .post(format!("{}/v1/session", service.url))
        .json(&session);
    let session = session.send().await.unwrap().error_for_status().unwrap();
    let cookie = session.headers()["set-cookie"].to_str().unwrap();
    let cookie = cookie.split(';').next().unwrap();
    let page = get(&service, &asset, &[("cookie", cookie)]).await;
    assert_eq!(
        (page.status().as_u16(), &*page.bytes().await.unwrap()),
        (200, CONTENT)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn the_client_for_rust_follows_to_the_bucket_and_keeps_the_key_from_it() {
    let Some(s3) = S3::start().await else { return };
    let service = presigning(&s3).await;
    let asset = service.upload("a.bin", CONTENT).await;
    let folder = tempfile::tempdir().unwrap();
    let client = SkilletClient::builder(&service.url, &service.key)
        .build()
        .unwrap();
    let typed = serde_json::from_value(asset.clone()).unwrap();
    let saved = client.download(&typed, folder.path()).await.unwrap();
    assert_eq!(std::fs::read(saved).unwrap(), CONTENT);
    let [head] = &s3.heads_for("x-amz-signature")[..] else {
        panic!("one request comes by a presigned URL")
    };
    assert!(head.contains(asset["sha256"].as_str().unwrap()), "{head}");
    assert!(!head.contains("authorization:"), "{head}");
}
