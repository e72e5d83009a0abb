//! Requests to HTTP APIs.

use crate::egress::machine;
use reqwest::Method;
use serde_json::{Value, json};

use super::site::Site;
use super::{ToolCallResult, ToolSetup, sh};

/// A value that must not be visible anywhere.
const TOKEN: &str = "tok-5f2c9e1b7a";

fn request(url: &str, more: Value) -> (&'static str, Value) {
    let mut input = json!({"method": "GET", "url": url});
    input
        .as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    ("http_request", input)
}

#[tokio::test]
async fn a_request_is_sent_as_it_was_made() {
    let setup = ToolSetup::start().await;
    let site = Site::start();
    let echo = site.url("/echo?a=0");
    let more = json!({
        "method": "POST",
        "headers": {"X-Mine": "yes", "Accept": "text/plain"},
        "query": {"b": "x&y z", "c": [1, true]},
        "body": {"n": 1.5},
    });
    let ran = setup
        .run(
            "workbench",
            &[
                request(&echo, more),
                request(&echo, json!({"method": "PUT", "body": "plain é"})),
                request(&echo, json!({"method": "PATCH", "body": [1], "headers": {"content-type": "application/merge-patch+json"}})),
                request(&echo, json!({"method": "DELETE"})),
                request(&echo, json!({"method": "HEAD"})),
            ],
        )
        .await;
    let sent = |ran: &ToolCallResult| {
        let told = ran.json();
        assert_eq!(told["status"], 201);
        told["body"].as_str().unwrap().to_owned()
    };
    let post = sent(&ran[0]);
    assert!(
        post.starts_with("POST /echo?a=0&b=x%26y+z&c=1&c=true HTTP/1.1\r\n"),
        "{post}"
    );
    for line in [
        "x-mine: yes",
        "accept: text/plain",
        "content-type: application/json",
        "content-length: 9",
    ] {
        assert!(post.contains(&format!("\r\n{line}\r\n")), "{line}: {post}");
    }
    assert!(post.ends_with("\r\n\r\n{\"n\":1.5}"), "{post}");
    let put = sent(&ran[1]);
    assert!(
        put.starts_with("PUT ") && put.ends_with("\r\n\r\nplain é"),
        "{put}"
    );
    assert!(
        put.contains("content-type: text/plain; charset=utf-8"),
        "{put}"
    );
    assert!(sent(&ran[2]).contains("\r\ncontent-type: application/merge-patch+json\r\n"));
    let delete = sent(&ran[3]);
    assert!(
        delete.starts_with("DELETE ") && !delete.contains("content-type"),
        "{delete}"
    );
    assert_eq!(sent(&ran[4]), "");
}

#[tokio::test]
async fn any_answer_is_a_result() {
    let setup = ToolSetup::start().await;
    let site = Site::start();
    let calls: Vec<_> = [
        "/missing",
        "/moved",
        "/png",
        "/long",
        "/headers-70",
        "/gzip",
    ]
    .iter()
    .map(|path| request(&site.url(path), json!({})))
    .chain([sh(
        "cd .skillet; ls; head -c 4 3-body.bin | od -An -tx1; wc -c < 4-body.json",
    )])
    .collect();
    let ran = setup.run("narrow", &calls).await;
    assert!(ran.iter().all(|ran| ran.outcome == "ok"), "{ran:#?}");
    let missing = ran[0].json();
    assert_eq!(
        (&missing["status"], &missing["body"]),
        (&json!(404), &json!("nothing here"))
    );
    assert_eq!(
        missing["headers"],
        json!({"connection": "close", "content-length": "12", "content-type": "text/plain"})
    );
    let moved = ran[1].json();
    assert_eq!(
        (&moved["status"], &moved["headers"]["location"]),
        (&json!(302), &json!("/page"))
    );
    assert!(
        moved["note"]
            .as_str()
            .unwrap()
            .starts_with("redirects are not followed")
    );
    let png = ran[2].json();
    assert_eq!(
        (&png["body"], &png["body_file"]),
        (&json!(""), &json!(".skillet/3-body.bin"))
    );
    assert_eq!(png["note"], "the body is not text: 16 bytes, image/png");
    let long = ran[3].json();
    assert_eq!(long["body_file"], ".skillet/4-body.json");
    let body = long["body"].as_str().unwrap();
    assert!(
        ran[3].truncated && body.contains("bytes left out") && body.len() < 1100,
        "{body}"
    );
    let many = ran[4].json();
    let shown = many["headers"].as_object().unwrap();
    assert!(
        (5..50).contains(&shown.len()) && shown["content-length"] == "4",
        "{many:#}"
    );
    assert!(
        many["note"]
            .as_str()
            .unwrap()
            .contains("more headers are left out")
    );
    assert_eq!(ran[5].json()["body"], "packed");
    assert_eq!(
        ran[6].stdout(),
        "3-body.bin\n4-body.json\n 89 50 4e 47\n5002\n"
    );
}

#[tokio::test]
async fn what_may_not_be_sent_is_refused_before_anything_is() {
    let setup = ToolSetup::start().await;
    let site = Site::start();
    let echo = site.url("/echo");
    let header = |name: &str, value: &str| request(&echo, json!({"headers": {name: value}}));
    let refused = [
        (header("Host", "internal"), "the header host cannot be set"),
        (
            header("Content-Length", "0"),
            "the header content-length cannot be set",
        ),
        (
            header(" transfer-encoding", "chunked"),
            "the header transfer-encoding cannot be set",
        ),
        (
            header("X-A", "b\r\nX-C: d"),
            "the value of the header x-a contains line breaks",
        ),
        (header("X A", "b"), "`X A` is not a valid header name"),
        (
            header("X-A", "{{secret:API_TOKEN}}"),
            "secrets are only sent to hosts that the skill declares",
        ),
        (
            request("http://10.0.0.1/", json!({})),
            "10.0.0.1 is refused",
        ),
        (request("http://u:p@127.0.0.1/", json!({})), "credentials"),
        (request(&echo, json!({"method": "TRACE"})), "/method"),
        (request(&echo, json!({"method": "CONNECT"})), "/method"),
        (
            request(&site.url("/headers-300"), json!({})),
            "sent no valid response",
        ),
        (
            request(&site.url("/cut"), json!({})),
            "sent no valid response",
        ),
    ];
    let calls: Vec<_> = refused.iter().map(|(call, _)| call.clone()).collect();
    for (ran, (_, words)) in setup.run("workbench", &calls).await.iter().zip(&refused) {
        ran.assert_error(words);
    }
    let endless = setup
        .run("workbench", &[request(&site.url("/bomb"), json!({}))])
        .await;
    let told = endless[0].json();
    assert!(
        told["note"]
            .as_str()
            .unwrap()
            .contains("only the first 10485760 bytes"),
        "{}",
        told["note"]
    );
}

#[tokio::test]
async fn only_hosts_that_the_skill_names_are_asked_and_only_they_get_secrets() {
    let setup = ToolSetup::with(&[
        ("SKILLET_EGRESS_ALLOW", "0.0.0.0/0,::/0"),
        ("SKILLET_FETCH_ALLOW", "203.0.113.0/24"),
    ])
    .await;
    let put = setup.service.request(Method::PUT, "/v1/secrets/API_TOKEN");
    let put = put.json(&json!({"value": TOKEN})).send().await.unwrap();
    assert!(put.status().is_success(), "{put:?}");
    let site = Site::start();
    let host = format!("{}:{}", machine(), site.port());
    let url = format!("http://{host}/echo");
    let bearer = json!({"headers": {"Authorization": "Bearer {{secret:API_TOKEN}}"}, "query": {"key": "{{secret:API_TOKEN}}"}});
    let calls = [
        request(&url, bearer),
        request(&url, json!({"headers": {"X-A": "{{secret:OTHER_TOKEN}}"}})),
        request(&format!("{url}?k={{{{secret:API_TOKEN}}}}"), json!({})),
        request("http://elsewhere.example/", json!({})),
        request(&site.url("/echo"), json!({})),
        ("web_fetch", json!({"url": format!("http://{host}/json")})),
        (
            "web_fetch",
            json!({"url": format!("http://{}:1/json", machine())}),
        ),
        (
            "web_fetch",
            json!({"url": format!("http://{host}/moved-here")}),
        ),
        (
            "web_fetch",
            json!({"url": format!("http://{host}/to-metadata")}),
        ),
    ];
    let ran = setup
        .run_with("caller", &calls, json!({"hosts": [host]}))
        .await;
    let sent = ran[0].json()["body"].as_str().unwrap().to_owned();
    assert!(
        sent.starts_with("GET /echo?key=[secret API_TOKEN] HTTP"),
        "{sent}"
    );
    assert!(
        sent.contains("authorization: Bearer [secret API_TOKEN]\r\n"),
        "it got there, and is not shown: {sent}"
    );
    ran[1].assert_error("this job has no such secret; it has: API_TOKEN");
    ran[2].assert_error("secrets go into header and query values");
    let allowed = format!("This job may reach {host}");
    ran[3].assert_error(&format!("elsewhere.example:80 is refused. {allowed}"));
    ran[4].assert_error(&format!("127.0.0.1:{} is refused. {allowed}", site.port()));
    assert!(ran[5].output.ends_with("{\"a\": [1, 2]}"), "{:?}", ran[5]);
    ran[6].assert_error(&allowed);
    ran[7].assert_error(&format!("localhost:{} is refused. {allowed}", site.port()));
    ran[8].assert_error("169.254.169.254:80 is refused");
    assert!(!setup.service.dump().await.contains(TOKEN));

    let none = setup
        .run_with("caller", &[request(&url, json!({}))], json!({}))
        .await;
    none[0].assert_error("This job may reach no host");
    let request = &setup.service.model.requests("tools-0")[0];
    let described = request["tools"].to_string();
    assert!(
        described.contains("{{secret:API_TOKEN}}") && described.contains("OTHER_TOKEN"),
        "{described}"
    );
}
