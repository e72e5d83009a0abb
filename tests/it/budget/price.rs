//! The costs of replies.

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{CLAUDE, GPT, nanos, service};
use crate::support::log::data;
use crate::support::{Service, scripted, until};

#[tokio::test]
async fn a_job_says_what_it_cost_with_cached_tokens_at_their_own_price() {
    let service = service().await;
    let call = || Reply::call("shell.exec", json!({"command": "true"}));
    for (number, (model, expected)) in [
        // 1,000 uncached, 3,000 cache read, 2,000 cache write and 100 output tokens; then 10 and 5.
        (
            CLAUDE,
            [3_000_000 + 900_000 + 7_500_000 + 1_500_000, 30_000 + 75_000],
        ),
        // OpenAI's format does not report cache writes.
        (GPT, [6_000_000 + 1_500_000 + 800_000, 20_000 + 40_000]),
    ]
    .into_iter()
    .enumerate()
    {
        let marker = format!("cost-{number}");
        let first = if model == CLAUDE {
            call().usage(6_000, 100).cached(3_000, 2_000)
        } else {
            call().usage(6_000, 100).cached(3_000, 0)
        };
        service.model.script(&marker, [first, Reply::text("Done.")]);
        let job = service.run(&scripted(model, &marker)).await;
        let total = expected[0] + expected[1];
        assert_eq!(nanos(&job["usage"]["cost_usd"]), total, "{job:#}");
        assert_eq!(job["usage"]["presumed_tokens"], Value::Null);
        let events = service.events(job["id"].as_str().unwrap()).await;
        let replies = data(&events, "message.completed");
        let costs: Vec<_> = replies
            .iter()
            .map(|reply| nanos(&reply["usage"]["cost_usd"]))
            .collect();
        assert_eq!(costs, expected);
        assert_eq!(
            data(&events, "budget.reserved"),
            [&Value::Null; 0],
            "it has no limits"
        );
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_script_costs_nothing_and_a_model_without_a_price_says_nothing_of_it() {
    let service = service().await;
    let script = service.create_shell("echo hi").await;
    assert_eq!(service.finished(&script).await["usage"]["cost_usd"], 0.0);
    service.model.script("dear", [Reply::text("Hi.")]);
    let job = service.run(&scripted("openai/gpt-test-2", "dear")).await;
    assert_eq!(job["status"], "completed");
    assert_eq!(job["usage"].get("cost_usd"), None);
}

#[tokio::test]
async fn what_a_reply_has_cost_stays_when_another_worker_knows_other_prices() {
    let mut service = Service::with_environment(&[("SKILLET_PRICES", "anthropic/*=1:1")]).await;
    service.add_worker(&[]).await;
    service.model.script(
        "moved",
        [
            Reply::call("shell.exec", json!({"command": "sleep 60"})).usage(100, 100),
            Reply::text("Done.").usage(10, 10),
        ],
    );
    let job = service.create(&scripted(CLAUDE, "moved")).await;
    service.until_event(&job, "tool.started").await;
    service.workers[0].kill();
    service
        .add_worker(&[("SKILLET_PRICES", "anthropic/*=1000:1000")])
        .await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "Done.", "{ended:#}");
    assert_eq!(nanos(&ended["usage"]["cost_usd"]), 200_000 + 20_000_000);
}

#[tokio::test]
async fn a_job_that_ends_otherwise_says_what_it_cost_until_then() {
    let service = service().await;
    service.model.script(
        "ended",
        [Reply::call("shell.exec", json!({"command": "sleep 60"})).usage(1_000, 100)],
    );
    let job = service.create(&scripted(CLAUDE, "ended")).await;
    service.until_event(&job, "tool.started").await;
    service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["status"], "cancelled");
    assert_eq!(nanos(&ended["usage"]["cost_usd"]), 3_000_000 + 1_500_000);
}

#[tokio::test]
async fn a_price_that_makes_no_sense_is_an_error_at_the_start() {
    let service = Service::without_worker().await;
    let mut worker = service.start_worker(&[], &[("SKILLET_PRICES", "anthropic/claude=cheap")]);
    let mut said = String::new();
    until(async || {
        said = service.logs();
        said.contains("dollars for a million tokens")
    })
    .await;
    assert!(said.contains("anthropic/claude=cheap"), "{said}");
    assert!(!worker.wait());
}
