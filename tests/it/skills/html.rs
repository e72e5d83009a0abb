//! `html`: output pages, rendered by Chromium after their scripts have run.

use serde_json::json;

use super::made::{Made, can_run};
use crate::support::{Service, bash};

/// Returns the final DOM of the page in the browser.
fn rendered(made: &Made, name: &str) -> String {
    let profile = made.path("profile");
    made.ask(
        "chromium",
        &[
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
            "--disable-background-networking",
            "--virtual-time-budget=3000",
            &format!("--user-data-dir={}", profile.display()),
            "--dump-dom",
            &format!("file://{}", made.path(name).display()),
        ],
    )
}

#[tokio::test]
async fn a_report_has_all_months_and_nothing_from_elsewhere() {
    let service = Service::start().await;
    if !can_run(&service, "html", &["chromium"]).await {
        return;
    }
    let prompt = include_str!("../../../cli/src/demo/html.md");
    let made = Made::of_bakery(&service, "html", prompt).await;
    let [(name, kind)] = made.outputs()[..] else {
        panic!("{:?}", made.outputs())
    };
    assert_eq!(kind, "text/html");
    let page = rendered(&made, name);
    for line in include_str!("../../../examples/bakery.csv").lines().skip(1) {
        let kinds = line.split(',').skip(1).take(4);
        let sum: u32 = kinds.map(|kind| kind.parse::<u32>().unwrap()).sum();
        let cell = format!(">{},{:03}</td>", sum / 1000, sum % 1000);
        assert!(page.contains(&cell), "{line}: {cell} in {page}");
    }
    for tag in ["<script src", "<link", "<img", "@import", "url(http"] {
        assert!(!page.contains(tag), "{tag} in {page}");
    }
}

#[tokio::test]
async fn the_scripts_of_a_page_run() {
    let service = Service::start().await;
    if !can_run(&service, "html", &["chromium"]).await {
        return;
    }
    let write = "echo '<!doctype html><title>Sum</title><p id=\"sum\">?</p>\
                 <script>document.getElementById(\"sum\").textContent = [20, 21, 1].reduce((a, b) => a + b)</script>' > sum.html";
    let prompt = format!("{}\noutput html: sum.html", bash(write));
    let made = Made::of(&service, "html", &prompt, &[], json!({})).await;
    let page = rendered(&made, "sum.html");
    assert!(page.contains("<p id=\"sum\">42</p>"), "{page}");
}
