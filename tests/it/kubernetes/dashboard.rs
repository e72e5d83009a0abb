//! The Grafana dashboard: its queries use only metrics and labels that the processes export.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::{Service, scripted, until};

/// Labels that the scraper and PromQL add.
const ADDED: [&str; 3] = ["namespace", "job", "pod"];
/// Metrics without a sample until something rare happens, and their labels, which other tests check.
const RARE: [(&str, &str); 2] = [
    ("skillet_attempts_retried_total", "cause"),
    ("skillet_webhook_attempts_total", "outcome"),
];

type Labels = BTreeMap<String, BTreeSet<String>>;

#[tokio::test]
async fn every_expression_names_metrics_and_labels_that_exist() {
    let mut service = Service::without_worker().await;
    service
        .add_worker(&[("SKILLET_METRICS_LISTEN", "127.0.0.1:0")])
        .await;
    let line = service.workers[0].first_line();
    let url = line.strip_prefix("metrics at ").unwrap();
    let call = Reply::call("shell.exec", json!({"command": "true"}));
    let last = Reply::text("done").usage(700, 30);
    service.model.script("counted", [call.usage(500, 20), last]);
    service
        .run(&scripted("anthropic/claude-test", "counted"))
        .await;
    // The price of `script/bash` is known, so this job adds a sample to the cost metric.
    let plain = service.create_shell("true").await;
    service.finished(&plain).await;
    let mut known = Labels::new();
    until(async || {
        let worker = reqwest::get(url).await.unwrap().text().await.unwrap();
        let api = service
            .request(Method::GET, "/metrics")
            .send()
            .await
            .unwrap();
        assert_eq!(api.status(), StatusCode::OK);
        known = labels_of(&format!("{worker}{}", api.text().await.unwrap()));
        known.contains_key("skillet_jobs_ended_total")
            && known.contains_key("skillet_model_cost_dollars_total")
    })
    .await;
    for (metric, label) in RARE {
        known
            .entry(metric.to_owned())
            .or_default()
            .insert(label.to_owned());
    }
    let mut expressions = 0;
    for panel in dashboard()["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            check(target["expr"].as_str().unwrap(), &known);
            let legend = target["legendFormat"].as_str().unwrap();
            check_legend(legend, target["expr"].as_str().unwrap());
            expressions += 1;
        }
    }
    assert!(expressions >= 20, "{expressions}");
}

fn dashboard() -> Value {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/helm/skillet/files/dashboard.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Returns the labels of each metric in a Prometheus text.
fn labels_of(text: &str) -> Labels {
    let mut all = Labels::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (series, _) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let labels = labels.split("\",").filter_map(|it| it.split_once("=\""));
        let labels = labels.map(|(label, _)| label.to_owned());
        all.entry(name.to_owned()).or_default().extend(labels);
    }
    all
}

/// Checks the metrics and the labels of an expression.
fn check(expression: &str, known: &Labels) {
    let mut allowed: BTreeSet<&str> = BTreeSet::from(ADDED);
    let words = |text: &'static str| text.split(' ').collect::<BTreeSet<_>>();
    let functions = words("max sum count by rate increase histogram_quantile");
    let names = names(expression);
    for name in &names {
        if name.starts_with("skillet_") || name.starts_with("process_") {
            let labels = known.get(*name);
            let labels = labels.unwrap_or_else(|| panic!("nothing has {name}: {known:#?}"));
            allowed.extend(labels.iter().map(String::as_str));
        }
    }
    for name in names {
        let is_metric = known.contains_key(name);
        assert!(
            is_metric || functions.contains(name) || allowed.contains(name),
            "{name} of {expression}"
        );
    }
}

/// Returns the names in an expression: all words outside quotes that begin with a letter.
fn names(expression: &str) -> Vec<&str> {
    let unquoted = expression.split('"').step_by(2);
    let words = unquoted.flat_map(|part| part.split(|it: char| !it.is_alphanumeric() && it != '_'));
    words
        .filter(|word| word.starts_with(|it: char| it.is_alphabetic()))
        .collect()
}

/// Checks that a legend shows labels that its expression keeps.
fn check_legend(legend: &str, expression: &str) {
    for part in legend.split("{{").skip(1) {
        let (label, _) = part.split_once("}}").unwrap();
        let kept = expression.split("by (").nth(1);
        let kept = kept.map(|it| it.split(')').next().unwrap());
        let is_kept = kept.is_none_or(|kept| kept.split(", ").any(|it| it == label));
        assert!(is_kept, "{legend} of {expression}");
    }
}
