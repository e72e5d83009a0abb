//! Browser tools, with Chromium.

use actix_web::{App, HttpResponse, HttpServer, web};
use serde_json::{Value, json};

use super::{ToolCallResult, ToolSetup};
use crate::egress::{ANY, machine};
use crate::support::has_program;

const PAGE: &str = r#"<!doctype html><html lang="en"><head><title>Tea shop</title>
<meta name="description" content="We sell tea."></head><body>
<h1>Prices</h1><table><caption>Today</caption><tr><th>Tea<th>Price</tr></table>
<p id="note">Fresh <b>every</b> day</p><a href="/about">About us</a> <a href="/about">About us</a>
<div style="height: 3000px"></div>
<script>
  const row = document.querySelector('table').insertRow();
  row.insertCell().textContent = 'Assam'; row.insertCell().textContent = '7';
</script></body></html>"#;

/// Starts a site that is reached by the machine's name, and returns its URL.
fn site() -> String {
    let page = |body: &'static str| {
        move || async move { HttpResponse::Ok().content_type("text/html").body(body) }
    };
    let server = HttpServer::new(move || {
        App::new()
            .route("/", web::get().to(page(PAGE)))
            .route(
                "/about",
                web::get().to(page("<title>About</title><p>Since 1900.</p>")),
            )
            .route(
                "/busy",
                web::get().to(page(
                    "<p>Busy</p><script>setInterval(() => fetch('/about'), 50)</script>",
                )),
            )
            .service(web::redirect(
                "/search",
                "https://www.google.com/search?q=tea",
            ))
            .route(
                "/script-search",
                web::get().to(page(
                    "<script>location = 'https://duckduckgo.com/?q=tea'</script>",
                )),
            )
            .default_service(web::to(|| async {
                HttpResponse::NotFound()
                    .content_type("text/html")
                    .body("<h1>Gone</h1>")
            }))
    })
    .workers(1)
    .bind(("0.0.0.0", 0))
    .unwrap();
    let port = server.addrs()[0].port();
    tokio::spawn(server.run());
    format!("http://{}:{port}", machine())
}

async fn look(url: &str, calls: &[(&str, Value)]) -> Vec<ToolCallResult> {
    let setup = ToolSetup::with(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    setup.run_with("viewer", calls, json!({ "url": url })).await
}

fn read(ran: &ToolCallResult) -> Value {
    assert_eq!(ran.outcome, "ok", "{ran:?}");
    serde_json::from_str(&ran.output).unwrap()
}

#[tokio::test]
async fn a_page_is_seen_after_its_scripts_have_run() {
    if !has_program("chromium") {
        return;
    }
    let url = site();
    let calls = [
        ("browser", json!({ "url": url })),
        ("dom_extract", json!({"what": "tables"})),
        ("dom_extract", json!({"what": "links"})),
        ("dom_search", json!({"text": "every"})),
        ("dom_search", json!({"selector": "td"})),
        (
            "take_screenshot",
            json!({"path": "shots/all.png", "full_page": true, "width": 400}),
        ),
        (
            "take_screenshot",
            json!({"path": "note.png", "selector": "#note"}),
        ),
        ("set_output", json!({"path": "shots/all.png"})),
    ];
    let ran = look(&url, &calls).await;
    let page = read(&ran[0]);
    assert_eq!(
        (&page["title"], &page["status"], &page["language"]),
        (&json!("Tea shop"), &json!(200), &json!("en"))
    );
    assert_eq!(page["metadata"]["description"], "We sell tea.");
    assert!(page["text"].as_str().unwrap().contains("Assam"), "{page:#}");
    assert_eq!(
        page["links"],
        json!([{"text": "About us", "url": format!("{url}/about")}])
    );
    assert_eq!(
        read(&ran[1])["tables"],
        json!([{"caption": "Today", "rows": [["Tea", "Price"], ["Assam", "7"]]}])
    );
    assert_eq!(read(&ran[2])["links"].as_array().unwrap().len(), 1);
    let found = read(&ran[3]);
    assert_eq!(
        (&found["found"], &found["elements"][0]["tag"]),
        (&json!(1), &json!("b"))
    );
    assert_eq!(read(&ran[4])["found"], 2);
    let all = read(&ran[5]);
    assert!(
        all["width"] == 400 && all["height"].as_u64().unwrap() > 3000,
        "{all:#}"
    );
    let note = read(&ran[6]);
    assert!(note["height"].as_u64().unwrap() < 60, "{note:#}");
    assert!(
        ran[7]
            .output
            .contains("shots/all.png is an output now: image/png")
    );
}

#[tokio::test]
async fn search_results_other_hosts_and_other_files_are_refused() {
    if !has_program("chromium") {
        return;
    }
    let url = site();
    let calls = [
        (
            "browser",
            json!({"url": "https://www.google.de/search?q=tea&hl=de"}),
        ),
        ("browser", json!({"url": "https://duckduckgo.com/?q=tea"})),
        ("browser", json!({"url": format!("{url}/search")})),
        ("browser", json!({"url": format!("{url}/script-search")})),
        ("browser", json!({"url": "http://example.com/"})),
        ("browser", json!({"url": "file:///etc/passwd"})),
        ("browser", json!({"url": "javascript:alert(1)"})),
        ("take_screenshot", json!({})),
        ("browser", json!({"url": format!("{url}/none")})),
        ("take_screenshot", json!({"path": "../x.png"})),
        ("take_screenshot", json!({"selector": "#none"})),
        ("dom_search", json!({"selector": "::["})),
        ("dom_search", json!({})),
    ];
    let ran = look(&url, &calls).await;
    let told = [
        "is a page of search results",
        "is a page of search results",
        "the page led to search results (https://www.google.com/search?q=tea)",
        "the page led to search results (https://duckduckgo.com/?q=tea)",
        "example.com:80 is refused. This job may reach",
        "is neither an http or https URL nor a file of the workspace",
        "is neither an http or https URL nor a file of the workspace",
        "no page is open: give a `url`",
        "Gone",
        "needs a path in the workspace",
        "no visible element matches `#none`",
        "the query in the page failed: SyntaxError",
        "give a `selector`, a `text`, or both",
    ];
    for ((ran, words), (tool, input)) in ran.iter().zip(told).zip(&calls) {
        let is_refused = words != "Gone";
        assert_eq!(
            ran.outcome == "error",
            is_refused,
            "{tool} {input}: {ran:?}"
        );
        assert!(ran.output.contains(words), "{tool} {input}: {ran:?}");
    }
    assert_eq!(read(&ran[8])["status"], 404);
}

#[tokio::test]
async fn a_page_that_never_rests_is_taken_as_it_stands() {
    if !has_program("chromium") {
        return;
    }
    let url = site();
    let ran = look(&url, &[("browser", json!({"url": format!("{url}/busy")}))]).await;
    assert_eq!(read(&ran[0])["text"], "Busy");
}
