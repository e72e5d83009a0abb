//! The console: its HTTP responses, and previews of files that models made.

mod journey;

use crate::support::Service;
use crate::support::problem::Problem;
use reqwest::Method;
use reqwest::header::HeaderMap;

fn header<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

#[tokio::test]
async fn every_view_is_the_same_page_with_a_strict_policy() {
    let service = Service::without_worker().await;
    for path in ["/console/", "/console/jobs", "/console/jobs/job_1?view=log"] {
        let response = service.anonymous(Method::GET, path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        let headers = response.headers().clone();
        assert!(header(&headers, "content-type").starts_with("text/html"));
        let policy = header(&headers, "content-security-policy");
        for directive in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ] {
            assert!(policy.contains(directive), "{policy}");
        }
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header(&headers, "referrer-policy"), "no-referrer");
        assert_eq!(
            header(&headers, "cross-origin-opener-policy"),
            "same-origin"
        );
        assert_eq!(header(&headers, "x-content-type-options"), "nosniff");
        assert!(
            response
                .text()
                .await
                .unwrap()
                .contains("/console/console.js")
        );
    }
}

#[tokio::test]
async fn files_are_compressed_and_revalidated() {
    let service = Service::without_worker().await;
    for (name, kind) in [("console.js", "text/javascript"), ("style.css", "text/css")] {
        let path = format!("/console/{name}");
        let get = || service.anonymous(Method::GET, &path);
        let plain = get().send().await.unwrap();
        assert!(header(plain.headers(), "content-type").starts_with(kind));
        let tag = header(plain.headers(), "etag").to_owned();
        let plain = plain.bytes().await.unwrap();
        let gzipped = get()
            .header("Accept-Encoding", "gzip")
            .send()
            .await
            .unwrap();
        assert_eq!(header(gzipped.headers(), "content-encoding"), "gzip");
        assert_eq!(header(gzipped.headers(), "etag"), tag);
        assert!(gzipped.bytes().await.unwrap().len() * 2 < plain.len());
        let known = get().header("If-None-Match", &tag).send().await.unwrap();
        assert_eq!(known.status(), 304);
    }
}

#[tokio::test]
async fn a_path_of_no_file_is_unknown() {
    let service = Service::without_worker().await;
    for path in ["/console/none.js", "/console/%2e%2e/package.json"] {
        let answer = Problem::of(service.anonymous(Method::GET, path)).await;
        assert_eq!(answer.kind(), (404, "not_found"), "{path}");
    }
}

#[tokio::test]
async fn a_preview_runs_scripts_in_isolation_and_only_of_pages() {
    let service = Service::without_worker().await;
    let page = service
        .upload("a.html", "<!doctype html><p>Hello</p>")
        .await;
    let preview = |id: &serde_json::Value| format!("/v1/assets/{}/preview", id.as_str().unwrap());
    let request = service.request(Method::GET, &preview(&page["id"]));
    let response = request.send().await.unwrap();
    assert_eq!(response.status(), 200);
    let policy = header(response.headers(), "content-security-policy").to_owned();
    for directive in [
        "sandbox allow-scripts;",
        "default-src 'none'",
        "connect-src 'none'",
        "frame-ancestors 'self'",
    ] {
        assert!(policy.contains(directive), "{policy}");
    }
    assert!(!policy.contains("allow-same-origin"), "{policy}");
    assert_eq!(
        response.text().await.unwrap(),
        "<!doctype html><p>Hello</p>"
    );

    let text = service.upload("a.txt", "Hello").await;
    let refused = Problem::of(service.request(Method::GET, &preview(&text["id"]))).await;
    assert_eq!(refused.kind(), (404, "not_found"));
    let anonymous = Problem::of(service.anonymous(Method::GET, &preview(&page["id"]))).await;
    assert_eq!(anonymous.kind(), (401, "unauthorized"));
}
