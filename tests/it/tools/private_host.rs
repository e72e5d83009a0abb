//! Hosts in private networks, which jobs can reach if the operator allows it.

use serde_json::{Value, json};

use super::members::MembersSite;
use super::{ToolSetup, sh};
use crate::support::has_program;

/// Returns calls that load a page of the site in different ways.
fn ways(site: &MembersSite, host: &str) -> Vec<(&'static str, Value)> {
    let url = format!("http://{host}:{}/news", site.port);
    vec![
        ("browser", json!({ "url": url })),
        ("web_fetch", json!({ "url": url })),
        sh(&format!("curl -sS --fail-with-body --noproxy '' {url}")),
    ]
}

#[tokio::test]
async fn an_opened_network_is_reached_by_name_and_address_on_any_port() {
    if !has_program("chromium") {
        return;
    }
    let site = MembersSite::start();
    let setup = ToolSetup::with(&[("SKILLET_EGRESS_ALLOW", "127.0.0.0/8")]).await;
    for host in ["localhost", "127.0.0.1"] {
        for ran in setup.run("visitor", &ways(&site, host)).await {
            assert_eq!(ran.outcome, "ok", "{host}: {ran:?}");
            assert!(ran.output.contains("All is well."), "{host}: {ran:?}");
        }
    }
}

#[tokio::test]
async fn the_refusal_of_a_private_host_names_the_setting_that_opens_it() {
    if !has_program("chromium") {
        return;
    }
    let site = MembersSite::start();
    let setup = ToolSetup::with(&[("SKILLET_FETCH_ALLOW", "203.0.113.0/24")]).await;
    for ran in setup.run("visitor", &ways(&site, "127.0.0.1")).await {
        ran.assert_error("--egress-allow 127.0.0.0/8");
        assert!(!ran.output.contains("All is well."), "{ran:?}");
    }
}
