//! Several steps in one call, a browser that is kept between calls, and crawls.

use std::time::Duration;

use serde_json::{Value, json};

use super::members::MembersSite;
use super::{ToolCallResult, ToolSetup, sh};
use crate::egress::ANY;
use crate::support::has_program;

async fn work(site: &MembersSite, calls: &[(&str, Value)]) -> Vec<ToolCallResult> {
    let setup = ToolSetup::with(&[("SKILLET_EGRESS_ALLOW", ANY)]).await;
    let parameters = json!({ "url": site.url });
    setup.run_with("viewer", calls, parameters).await
}

fn steps(steps: &Value) -> (&'static str, Value) {
    ("browse", json!({ "steps": steps }))
}

fn login(site: &MembersSite) -> (&'static str, Value) {
    steps(&json!([
        {"action": "open", "url": site.url},
        {"action": "type", "text": "Name", "value": "Zoë"},
        {"action": "type", "text": "Password", "value": "s3cret-word", "submit": true},
        {"action": "extract", "selector": "h1"},
    ]))
}

#[tokio::test]
async fn a_person_logs_in_fills_in_a_form_and_waits_in_one_call_and_goes_on_in_the_next() {
    if !has_program("chromium") {
        return;
    }
    let site = MembersSite::start();
    let calls = [
        steps(&json!([
            {"action": "open", "url": site.url},
            {"action": "type", "text": "Name", "value": "Zoë"},
            {"action": "type", "text": "Password", "value": "guessed"},
            {"action": "click", "text": "Sign in"},
            {"action": "extract", "selector": "[role=alert]"},
        ])),
        login(&site),
        steps(&json!([
            {"action": "click", "text": "load more"},
            {"action": "wait", "text": "Eleven members"},
            {"action": "type", "text": "Note", "value": "new"},
            {"action": "type", "text": "Note", "value": " words", "append": true},
            {"action": "select", "text": "Colour", "value": "green"},
            {"action": "type", "text": "Day", "value": "2026-03-04"},
            {"action": "click", "text": "I agree"},
            {"action": "upload", "selector": "[name=photo]", "path": "photo.txt"},
            {"action": "screenshot"},
            {"action": "screenshot", "path": "shots/all.png", "full_page": true},
        ])),
        ("dom_extract", json!({"what": "forms"})),
        steps(&json!([
            {"action": "click", "text": "Leave"},
            {"action": "search", "selector": "title"},
            {"action": "click", "text": "Leave", "accept_dialog": true},
            {"action": "extract", "what": "metadata"},
            {"action": "click", "text": "Report"},
            {"action": "click", "text": "News"},
            {"action": "extract"},
        ])),
        sh("cat downloads/report.csv; file -b shots/all.png | cut -d, -f1"),
    ];
    let mut calls = calls.to_vec();
    calls.insert(0, sh("echo photo > photo.txt"));
    let ran = work(&site, &calls).await;
    let read = |index: usize| {
        assert_eq!(ran[index].outcome, "ok", "{:?}", ran[index]);
        ran[index].json()
    };
    assert_eq!(read(1)["steps"][4]["text"], "Wrong name or password");
    let inside = read(2);
    assert_eq!(inside["steps"][3]["text"], "Welcome, Zoë");
    assert_eq!(inside["page"]["title"], "Members");
    assert_eq!(
        inside["steps"][2].get("value"),
        None,
        "a password is not repeated"
    );
    assert_eq!(read(3)["steps"][3]["value"], "new words");
    // A new browser would have none of these values.
    let fields = read(4)["fields"].clone();
    let field = |name: &str| {
        let mut fields = fields.as_array().unwrap().iter();
        fields.find(|field| field["name"] == name).unwrap().clone()
    };
    assert_eq!(field("note")["value"], "new words");
    assert_eq!(field("colour")["value"], "g");
    assert_eq!(field("day")["value"], "2026-03-04");
    assert_eq!(field("agree")["checked"], true);
    assert!(
        field("photo")["value"]
            .as_str()
            .unwrap()
            .ends_with("photo.txt")
    );
    let last = read(5);
    assert!(
        last["steps"][0]["notes"][0]
            .as_str()
            .unwrap()
            .contains("dismissed"),
        "{last:#}"
    );
    assert_eq!(last["steps"][1]["elements"][0]["text"], "Stayed");
    assert_eq!(last["steps"][3]["title"], "Left");
    let downloaded = "a file was downloaded: downloads/report.csv";
    assert!(
        last["steps"][4]["notes"]
            .as_array()
            .unwrap()
            .contains(&json!(downloaded)),
        "{last:#}"
    );
    assert_eq!(last["steps"][6]["text"], "All is well.");
    assert_eq!(
        ran[6].stdout(),
        "day,members\n2026-01-01,11\nPNG image data\n"
    );
}

#[tokio::test]
async fn the_first_step_that_fails_ends_the_call_and_says_what_is_on_the_page() {
    if !has_program("chromium") {
        return;
    }
    let site = MembersSite::start();
    let failing = |step: Value| {
        let first = json!({"action": "search", "selector": "h1"});
        steps(&json!([first, step, {"action": "click", "text": "Leave"}]))
    };
    let calls = [
        login(&site),
        failing(json!({"action": "click", "text": "Delete the club"})),
        failing(json!({"action": "click", "text": "Never"})),
        failing(json!({"action": "click", "selector": "#under"})),
        failing(json!({"action": "type", "text": "Colour", "value": "x"})),
        failing(json!({"action": "select", "text": "Colour", "value": "blue"})),
        failing(json!({"action": "wait", "text": "Twelve members", "seconds": 0.5})),
        failing(json!({"action": "click"})),
        failing(json!({"action": "press", "key": "Hyper+X"})),
        failing(json!({"action": "upload", "text": "Photo", "path": "/etc/passwd"})),
        failing(json!({"action": "open", "url": "https://www.google.com/search?q=club"})),
        failing(json!({"action": "open", "url": "http://elsewhere.example/"})),
    ];
    let ran = work(&site, &calls).await;
    let told = [
        "step 2 (click) failed: no visible element matches `Delete the club`",
        "`Never` is disabled",
        "`#under` is covered by: div A banner",
        "`Colour` is a list of options: use `select`",
        "has no option `blue`; it has: Red, Green",
        "`Twelve members` was not visible after 0.5 s",
        "give the element as `selector` or `text`",
        "`Hyper` is not a modifier key",
        "`/etc/passwd` is not a file of the workspace",
        "is a page of search results",
        "elsewhere.example:80 is refused. This job may reach",
    ];
    for (ran, words) in ran[1..].iter().zip(told) {
        assert!(
            ran.outcome == "error" && ran.output.contains(words),
            "{words}\n{ran:?}"
        );
        let start = ran.output.lines().next().unwrap();
        let failed: Value = serde_json::from_str(start).unwrap();
        assert_eq!(failed["steps"].as_array().unwrap().len(), 1, "{failed:#}");
        assert_eq!(failed["steps"][0]["found"], 1, "{failed:#}");
        assert!(failed["page"]["url"].is_string(), "{failed:#}");
    }
    let failed = ran[1].json();
    assert_eq!(failed["page"]["title"], "Members");
    assert!(
        failed["page"]["text"]
            .as_str()
            .unwrap()
            .contains("Welcome, Zoë")
    );
    let controls = failed["page"]["controls"].as_array().unwrap();
    assert!(controls.contains(&json!("button Leave")), "{controls:?}");
}

#[tokio::test]
async fn a_browser_lives_between_calls_and_not_longer_than_its_job() {
    if !has_program("chromium") {
        return;
    }
    let site = MembersSite::start();
    let count = |site: &MembersSite| site.beats();
    let calls = [
        login(&site),
        sh("sleep 3"),
        steps(&json!([{"action": "extract", "selector": "h1"}])),
    ];
    let ran = work(&site, &calls).await;
    assert_eq!(ran[2].json()["steps"][0]["text"], "Welcome, Zoë");
    let at_end = count(&site);
    assert!(
        at_end > 10,
        "the page went on while the command ran: {at_end}"
    );
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(
        count(&site) <= at_end + 1,
        "{at_end}, then {}",
        count(&site)
    );
}

#[tokio::test]
async fn a_crawl_writes_the_pages_of_a_site_nearest_first() {
    if !has_program("chromium") {
        return;
    }
    let site = MembersSite::start();
    let first = format!("{}/p/1", site.url);
    let calls = [
        (
            "crawl",
            json!({"url": first, "pages": 6, "depth": 3, "pattern": "/p/\\d+$"}),
        ),
        sh(
            "python3 -c 'import json; [print(p[\"url\"].rsplit(\"/\", 1)[1], p[\"status\"], p[\"title\"], p[\"text\"].split(\"\\n\")[0], len(p[\"links\"]), p[\"depth\"], sep=\"|\") for p in map(json.loads, open(\"crawl/pages.jsonl\"))]'",
        ),
        (
            "crawl",
            json!({"url": format!("{}/p/60", site.url), "depth": 1}),
        ),
        ("crawl", json!({"url": first, "pattern": "("})),
        ("crawl", json!({"url": "https://duckduckgo.com/?q=tea"})),
    ];
    let ran = work(&site, &calls).await;
    let summary = ran[0].json();
    assert_eq!(
        (&summary["pages"], &summary["file"]),
        (&json!(6), &json!("crawl/pages.jsonl"))
    );
    assert!(summary["not_opened"].as_u64().unwrap() > 0, "{summary:#}");
    let lines: Vec<String> = (1..=6)
        .map(|number: u32| {
            format!(
                "{number}|200|Page {number}|Text of {number}|6|{}",
                number.ilog2()
            )
        })
        .collect();
    assert_eq!(ran[1].stdout().trim(), lines.join("\n"));
    let found = ran[2].json()["found"].clone();
    let statuses: Vec<_> = found
        .as_array()
        .unwrap()
        .iter()
        .map(|page| page["status"].clone())
        .collect();
    assert_eq!(
        statuses,
        [200, 404, 404, 200, 200],
        "60, 120, 121, 1, news: {found:#}"
    );
    ran[3].assert_error("pattern: it is not a regular expression");
    ran[4].assert_error("is a page of search results");
}
