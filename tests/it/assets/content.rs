//! Downloads: whole, in ranges, and conditional.

use reqwest::{Method, Response};
use serde_json::Value;

use crate::support::Service;
use crate::support::problem::Problem;

const DIGITS: &str = "0123456789";

#[tokio::test]
async fn a_download_says_what_it_is_and_how_to_show_it() {
    let service = Service::without_worker().await;
    let cases = [
        (
            "a.txt",
            "plain",
            "text/plain",
            "inline; filename*=UTF-8''a%2Etxt",
        ),
        (
            "größe;\".csv",
            "a,b\n1,2\n",
            "text/csv",
            "attachment; filename*=UTF-8''gr%C3%B6%C3%9Fe%3B%22%2Ecsv",
        ),
        (
            "p.html",
            "<!doctype html><script>",
            "text/html",
            "attachment; filename*=UTF-8''p%2Ehtml",
        ),
        (
            "i.svg",
            "<svg onload='x'/>",
            "image/svg+xml",
            "attachment; filename*=UTF-8''i%2Esvg",
        ),
        (
            "i.png",
            "\u{7f}PNG",
            "text/plain",
            "inline; filename*=UTF-8''i%2Epng",
        ),
    ];
    for (name, content, content_type, disposition) in cases {
        let asset = service.upload(name, content).await;
        let response = get(&service, &asset, &[]).await;
        let header = |name: &str| response.headers()[name].to_str().unwrap();
        assert_eq!(header("content-type"), content_type, "{name}");
        assert_eq!(header("content-disposition"), disposition);
        assert_eq!(header("content-length"), content.len().to_string());
        assert_eq!(header("x-content-type-options"), "nosniff");
        assert_eq!(header("etag"), tag(&asset));
        assert_eq!(header("accept-ranges"), "bytes");
        assert!(header("content-security-policy").contains("sandbox"));
        assert_eq!(header("cache-control"), "private, no-cache");
        assert_eq!(response.bytes().await.unwrap(), content);
    }
}

#[tokio::test]
async fn head_is_get_without_the_content() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", DIGITS).await;
    let get = get(&service, &asset, &[]).await;
    let path = asset["content_url"].as_str().unwrap();
    let head = service.request(Method::HEAD, path).send().await.unwrap();
    assert_eq!(head.status(), 200);
    let without_date = |response: &Response| {
        let mut headers = response.headers().clone();
        headers.remove("date");
        headers.remove("x-request-id");
        headers
    };
    assert_eq!(without_date(&head), without_date(&get));
    assert_eq!(head.headers()["content-length"], "10");
    assert_eq!(head.bytes().await.unwrap(), "");
}

#[tokio::test]
async fn content_that_a_client_does_not_mean_is_not_sent() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", DIGITS).await;
    let tag = tag(&asset);
    for (tags, status) in [
        (&*tag, 200),
        ("*", 200),
        (&*format!("\"other\", {tag}"), 200),
        ("\"other\"", 412),
        // A weak tag means that the bytes may differ.
        (&*format!("W/{tag}"), 412),
    ] {
        let response = get(&service, &asset, &[("if-match", tags)]).await;
        assert_eq!(response.status(), status, "{tags}");
    }
    let path = asset["content_url"].as_str().unwrap();
    let request = service
        .request(Method::GET, path)
        .header("If-Match", "\"x\"");
    let refused = Problem::of(request).await;
    assert_eq!(refused.kind(), (412, "precondition_failed"));
    assert!(refused.detail().contains(&tag), "{refused:?}");
}

#[tokio::test]
async fn one_range_is_served_and_anything_else_is_the_whole() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", DIGITS).await;
    let parts = [
        ("bytes=0-4", "bytes 0-4/10", "01234"),
        ("bytes=8-", "bytes 8-9/10", "89"),
        ("bytes=-3", "bytes 7-9/10", "789"),
        ("bytes=-30", "bytes 0-9/10", DIGITS),
        ("bytes=5-999", "bytes 5-9/10", "56789"),
    ];
    for (range, content_range, content) in parts {
        let response = get(&service, &asset, &[("range", range)]).await;
        assert_eq!(response.status(), 206, "{range}");
        assert_eq!(response.headers()["content-range"], content_range);
        assert_eq!(
            response.headers()["content-length"],
            content.len().to_string()
        );
        assert_eq!(response.bytes().await.unwrap(), content);
    }
    for range in ["bytes=0-1,4-5", "lines=0-4", "bytes=4-2", "nonsense"] {
        let response = get(&service, &asset, &[("range", range)]).await;
        assert_eq!(response.status(), 200, "{range}");
        assert!(!response.headers().contains_key("content-range"));
        assert_eq!(response.bytes().await.unwrap(), DIGITS);
    }
}

#[tokio::test]
async fn a_range_beyond_the_end_is_refused_with_the_size() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", DIGITS).await;
    let empty = service.upload("empty.txt", "").await;
    for (asset, range, size) in [
        (&asset, "bytes=10-", "bytes */10"),
        (&asset, "bytes=-0", "bytes */10"),
        (&empty, "bytes=0-", "bytes */0"),
    ] {
        let request = service.request(Method::GET, asset["content_url"].as_str().unwrap());
        let refused = Problem::of(request.header("Range", range)).await;
        assert_eq!(refused.kind(), (416, "range_not_satisfiable"), "{range}");
        assert_eq!(refused.headers["content-range"], size);
    }
    let response = get(&service, &empty, &[]).await;
    assert_eq!(
        (
            response.status().as_u16(),
            response.bytes().await.unwrap().len()
        ),
        (200, 0)
    );
}

#[tokio::test]
async fn what_the_client_has_is_not_sent_again() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", DIGITS).await;
    let tag = tag(&asset);
    for tags in [
        tag.clone(),
        format!("\"other\", {tag}"),
        format!("W/{tag}"),
        "*".to_owned(),
    ] {
        let response = get(&service, &asset, &[("if-none-match", &tags)]).await;
        assert_eq!(response.status(), 304, "{tags}");
        assert_eq!(response.headers()["etag"], tag);
        assert_eq!(response.bytes().await.unwrap(), "");
    }
    let response = get(&service, &asset, &[("if-none-match", "\"other\"")]).await;
    assert_eq!(response.status(), 200);
}

#[tokio::test]
async fn a_range_of_other_content_is_answered_with_the_whole() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", DIGITS).await;
    let same = get(
        &service,
        &asset,
        &[("range", "bytes=2-3"), ("if-range", &tag(&asset))],
    )
    .await;
    assert_eq!(same.status(), 206);
    assert_eq!(same.bytes().await.unwrap(), "23");
    for other in ["\"other\"", "Sat, 21 Nov 2026 09:41:54 GMT"] {
        let whole = get(
            &service,
            &asset,
            &[("range", "bytes=2-3"), ("if-range", other)],
        )
        .await;
        assert_eq!(whole.status(), 200, "{other}");
        assert_eq!(whole.bytes().await.unwrap(), DIGITS);
    }
}

#[tokio::test]
async fn content_that_the_store_has_lost_is_gone_for_good() {
    let service = Service::without_worker().await;
    let asset = service.upload("a.txt", DIGITS).await;
    std::fs::remove_file(service.blob(&asset["sha256"])).unwrap();
    let path = asset["content_url"].as_str().unwrap();
    let lost = Problem::of(service.request(Method::GET, path)).await;
    assert_eq!(lost.kind(), (410, "content_lost"));
    assert_eq!(lost.body["retryable"], false);
}

fn tag(asset: &Value) -> String {
    format!("\"{}\"", asset["sha256"].as_str().unwrap())
}

async fn get(service: &Service, asset: &Value, headers: &[(&str, &str)]) -> Response {
    let mut request = service.request(Method::GET, asset["content_url"].as_str().unwrap());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.unwrap()
}
