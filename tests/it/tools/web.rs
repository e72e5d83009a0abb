//! Web pages from well-behaved and hostile servers.

use std::time::{Duration, Instant};

use serde_json::json;

use super::site::Site;
use super::{ToolCallResult, ToolSetup};

async fn fetch(setup: &ToolSetup, urls: &[String]) -> Vec<ToolCallResult> {
    let calls: Vec<_> = urls
        .iter()
        .map(|url| ("web_fetch", json!({"url": url})))
        .collect();
    setup.run("workbench", &calls).await
}

#[tokio::test]
async fn pages_become_text_and_texts_stay_as_they_are() {
    let setup = ToolSetup::start().await;
    let site = Site::start();
    let paths = [
        "/moved",
        "/json",
        "/latin",
        "/invalid",
        "/gzip",
        "/untyped",
        "/missing",
        "/moved-here",
    ];
    let ran = fetch(&setup, &paths.map(|path| site.url(path))).await;
    let (page, json) = (site.url("/page"), site.url("/json"));
    assert_eq!(
        ran[0].output,
        format!(
            "url: {page}\nstatus: 200\ncontent_type: text/html; charset=utf-8\ntitle: A page\n\n\
             # Big\n\nIt has a [link]({json}?a=1)."
        )
    );
    let plain =
        format!("url: {json}\nstatus: 200\ncontent_type: application/json\n\n{{\"a\": [1, 2]}}");
    assert_eq!(ran[1].output, plain);
    for (ran, text) in
        ran[2..6]
            .iter()
            .zip(["café", "a\u{fffd}\u{fffd}\u{fffd}b", "packed", "just words"])
    {
        assert!(
            ran.outcome == "ok" && ran.output.ends_with(&format!("\n\n{text}")),
            "{ran:?}"
        );
    }
    ran[6].assert_error("status: 404\ncontent_type: text/plain\n\nnothing here");
    assert_eq!(ran[7].output, plain.replace("127.0.0.1", "localhost"));
}

#[tokio::test]
async fn private_addresses_and_other_than_pages_are_refused_at_every_hop() {
    let setup = ToolSetup::start().await;
    let site = Site::start();
    let refused = [
        (
            "http://10.0.0.1/".to_owned(),
            "10.0.0.1 is refused: its address is not public",
        ),
        ("http://169.254.169.254/latest/".to_owned(), "not public"),
        ("http://0xA000001/".to_owned(), "not public"),
        ("http://[::1]:1/".to_owned(), "not public"),
        ("http://[::ffff:10.0.0.1]/".to_owned(), "not public"),
        (
            "file:///etc/passwd".to_owned(),
            "must begin with http:// or https://",
        ),
        (
            "ftp://example.com/".to_owned(),
            "must begin with http:// or https://",
        ),
        ("example.com".to_owned(), "the URL is invalid"),
        ("http://user:word@example.com/".to_owned(), "credentials"),
        (
            "http://127.0.0.1:1/".to_owned(),
            "127.0.0.1 cannot be reached",
        ),
        (
            site.url("/to-private"),
            "redirects to http://10.0.0.1/: 10.0.0.1 is refused: its address is not public",
        ),
        (site.url("/to-metadata"), "not public"),
        (site.url("/to-file"), "must begin with http:// or https://"),
        (site.url("/to-user"), "credentials"),
        (site.url("/round"), "it redirects more than 5 times"),
        (
            site.url("/png"),
            "is not text: it is image/png, 16 bytes (status 200 OK)",
        ),
        (
            site.url("/liar"),
            "is not text, although its type is text/html: 16 bytes",
        ),
    ];
    let urls: Vec<_> = refused.iter().map(|(url, _)| url.clone()).collect();
    for (ran, (_, words)) in fetch(&setup, &urls).await.iter().zip(refused) {
        ran.assert_error(words);
    }
}

#[tokio::test]
async fn a_name_is_as_private_as_its_address() {
    let setup = ToolSetup::with(&[("SKILLET_FETCH_ALLOW", "203.0.113.0/24")]).await;
    let site = Site::start();
    let urls = [format!("http://localhost:{}/", site.port()), site.url("/")];
    let ran = fetch(&setup, &urls).await;
    ran[0].assert_error("localhost is refused: its address is not public");
    ran[1].assert_error("127.0.0.1 is refused: its address is not public");
}

#[tokio::test]
async fn a_hostile_server_costs_little_and_is_given_up() {
    let setup = ToolSetup::start().await;
    let site = Site::start();
    let before = peak_kilobytes(&setup);
    let begun_at = Instant::now();
    let paths = [
        "/endless",
        "/bomb",
        "/headers-300",
        "/huge-header",
        "/damaged",
        "/brotli",
        "/cut",
        "/no-http",
    ];
    let ran = fetch(&setup, &paths.map(|path| site.url(path))).await;
    for cut in &ran[..2] {
        assert!(cut.outcome == "ok" && cut.truncated, "{}", cut.outcome);
        assert!(
            cut.output.contains("in the workspace file .skillet/"),
            "the whole of it is kept"
        );
        assert!(cut.output.len() < 210_000);
    }
    for refused in &ran[2..4] {
        refused.assert_error("127.0.0.1 sent no valid response");
    }
    ran[4].assert_error("the gzip data of 127.0.0.1 is damaged");
    ran[5].assert_error("compressed its response as `br`, although only gzip was requested");
    ran[6].assert_error("127.0.0.1 sent no valid response");
    ran[7].assert_error("127.0.0.1 sent no valid response");
    assert!(
        begun_at.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun_at.elapsed()
    );
    let grown = peak_kilobytes(&setup) - before;
    assert!(grown < 150_000, "{grown} kB more");

    let slow = ("web_fetch", json!({"url": site.url("/slow"), "timeout": 1}));
    let silent = (
        "web_fetch",
        json!({"url": site.url("/silent"), "timeout": 1}),
    );
    for ran in setup.run("workbench", &[slow, silent]).await {
        assert_eq!(
            (&*ran.outcome, &*ran.output),
            ("timeout", "the page did not load within 1 s")
        );
    }
}

/// Returns the peak memory of the worker.
fn peak_kilobytes(setup: &ToolSetup) -> u64 {
    let process = setup.service.workers[0].id();
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}
