//! MCP servers over HTTP.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::site::Site;
use super::{McpSetup, TOKEN};

fn at(site: &Site, path: &str) -> Value {
    json!({"name": "srv", "url": site.url(path)})
}

/// Returns a server that receives a secret in a header.
fn trusted(site: &Site, path: &str) -> Value {
    let headers = json!({"Authorization": "Bearer {{secret:TOKEN}}"});
    json!({"name": "srv", "url": site.url(path), "headers": headers})
}

fn echo() -> (&'static str, Value) {
    ("mcp_srv_echo", json!({}))
}

#[tokio::test]
async fn it_is_asked_within_a_session_with_the_secret_that_is_meant_for_it() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    for path in ["json", "events"] {
        let site = Site::start();
        setup.serve(&[trusted(&site, path)], json!({})).await;
        let ran = setup.run(&[echo(), echo()]).await;
        for ran in ran {
            ran.assert("ok", "bearer [secret TOKEN]; session-0; 2025-06-18");
        }
        let seen = site.seen();
        let asked: Vec<_> = seen.iter().map(|seen| &*seen.what).collect();
        let expected = [
            "POST initialize",
            "POST notifications/initialized",
            "POST tools/list",
            "POST tools/call",
            "POST tools/call",
            "DELETE -",
        ];
        assert_eq!(asked, expected);
        let bearer = format!("bearer {TOKEN}");
        assert!(
            seen.iter()
                .all(|seen| seen.header("authorization") == Some(&bearer))
        );
        assert_eq!(
            seen[3].header("accept"),
            Some("application/json, text/event-stream")
        );
    }
    assert!(!setup.service.dump().await.contains(TOKEN));
    assert!(!setup.service.logs().contains(TOKEN));
}

#[tokio::test]
async fn a_session_that_is_forgotten_is_begun_anew_and_an_answer_that_broke_off_is_taken_up() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    let site = Site::start();
    setup.serve(&[at(&site, "expiring")], json!({})).await;
    setup.run(&[echo()]).await[0].assert("ok", "none; session-1; 2025-06-18");
    setup.serve(&[at(&site, "resuming")], json!({})).await;
    setup.run(&[echo()]).await[0].assert("ok", "the rest");
}

#[tokio::test]
async fn an_address_that_is_not_public_is_refused_unless_the_operator_opened_it() {
    let closed = [("SKILLET_FETCH_ALLOW", "203.0.113.0/24")];
    let Some(setup) = McpSetup::with(&closed).await else {
        return;
    };
    let site = Site::start();
    let named = site.url("json").replace("127.0.0.1", "localhost");
    for url in [
        site.url("json"),
        named,
        "http://169.254.169.254/".to_owned(),
        "http://[::1]/".to_owned(),
    ] {
        setup
            .serve(&[json!({"name": "srv", "url": url})], json!({}))
            .await;
        let error = setup.fail().await;
        assert_eq!(error["code"], "mcp_server_unavailable");
        let message = error["message"].as_str().unwrap();
        assert!(
            message.contains("is refused: ") && message.contains("not public"),
            "{message}"
        );
    }
    assert_eq!(site.seen().len(), 0);
}

#[tokio::test]
async fn a_job_fails_whose_server_is_not_one() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    let site = Site::start();
    for (path, words) in [
        (
            "moved",
            "127.0.0.1 answered 307 Temporary Redirect: redirects are not followed",
        ),
        (
            "closed",
            "127.0.0.1 answered 401 Unauthorized: check the credentials",
        ),
        ("broken", "127.0.0.1 answered 500 Internal Server Error"),
        (
            "page",
            "127.0.0.1 sent a response that is not an MCP message",
        ),
    ] {
        setup.serve(&[trusted(&site, path)], json!({})).await;
        let error = setup.fail().await;
        let message = error["message"].as_str().unwrap();
        assert!(
            message.starts_with("the MCP server `srv` did not start: ") && message.contains(words),
            "{message}"
        );
    }
    setup
        .serve(
            &[json!({"name": "srv", "url": "http://127.0.0.1:1/"})],
            json!({}),
        )
        .await;
    let error = setup.fail().await;
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("127.0.0.1 cannot be reached"),
        "{error}"
    );
    assert!(!setup.service.dump().await.contains(TOKEN));
}

#[tokio::test]
async fn a_call_that_has_no_end_is_given_up() {
    let Some(setup) = McpSetup::start().await else {
        return;
    };
    let site = Site::start();
    for path in ["stuck", "endless", "heavy", "line", "flood"] {
        let mut server = at(&site, path);
        server["timeout_seconds"] = json!(3);
        setup.serve(&[server], json!({})).await;
        let begun_at = Instant::now();
        let ran = setup.run(&[echo(), ("file_list", json!({}))]).await;
        assert!(
            begun_at.elapsed() < Duration::from_secs(20),
            "{path}: {:?}",
            begun_at.elapsed()
        );
        assert!(
            matches!(&*ran[0].outcome, "error" | "timeout"),
            "{path}: {ran:?}"
        );
        ran[1].assert("ok", "server.py");
        if path == "stuck" {
            ran[0].assert("timeout", "gave no result within 3 s");
            let cancelled = |seen: &super::site::Seen| seen.what == "POST notifications/cancelled";
            assert!(site.seen().iter().any(cancelled), "{:?}", site.seen());
        }
    }
}
