//! The circuit breaker of a provider's account.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tests::model_server::{Provider, Reply};

use super::{CLAUDE, GPT, provider_status, service, with_fallback};
use crate::support::log::data;
use crate::support::{scripted, until};

#[tokio::test]
async fn a_provider_that_keeps_failing_is_not_asked_until_a_probe_succeeds() {
    let mut service = service("").await;
    for _ in 0..2 {
        service.add_worker(&[]).await;
    }
    let is_down = Arc::new(AtomicBool::new(true));
    let down = is_down.clone();
    service.model.script_with("failing", move |request| {
        if request.provider == Provider::Anthropic && down.load(Ordering::Relaxed) {
            Reply::status(503)
        } else {
            Reply::text("ok")
        }
    });
    let asked = || {
        let requests = service.model.requests("failing").into_iter();
        requests
            .filter(|it| it.provider == Provider::Anthropic)
            .count()
    };
    until(async || {
        let job = service.run(&with_fallback("failing")).await;
        assert_eq!((&job["model"], &job["attempt"]), (&json!(GPT), &json!(1)));
        provider_status(&service).await == "down"
    })
    .await;
    assert!(asked() >= 5, "{}", asked());

    // Keep the circuit open until the test changes it.
    sqlx::query("update provider_account set open_until = now() + interval '1 hour' where provider = 'anthropic'")
        .execute(&service.pool)
        .await
        .unwrap();
    // Each worker learns about it within a second.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let before = asked();
    for _ in 0..4 {
        let job = service.run(&with_fallback("failing")).await;
        assert_eq!((&job["model"], &job["attempt"]), (&json!(GPT), &json!(1)));
    }
    assert_eq!(asked(), before, "the circuit is open");
    let job = service.create(&scripted(CLAUDE, "failing")).await;
    let events = service.until_event(&job, "job.retrying").await;
    let message = &data(&events, "job.retrying")[0]["message"];
    let start =
        "the provider `anthropic` has failed repeatedly and receives no requests for another ";
    assert!(message.as_str().unwrap().starts_with(start), "{message}");
    assert_eq!(asked(), before, "not even without a fallback");

    // Half open: a probe fails, and the circuit is open again for longer.
    let half_open = "update provider_account set open_until = now() where provider = 'anthropic'";
    sqlx::query(half_open).execute(&service.pool).await.unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let job = service.run(&with_fallback("failing")).await;
    assert_eq!(job["model"], GPT);
    assert_eq!(asked(), before + 1, "one call probes");
    assert_eq!(provider_status(&service).await, "down");

    is_down.store(false, Ordering::Relaxed);
    sqlx::query(half_open).execute(&service.pool).await.unwrap();
    until(async || {
        let job = service.run(&with_fallback("failing")).await;
        job["model"] == CLAUDE
    })
    .await;
    assert_eq!(provider_status(&service).await, "ready");
    assert_eq!(service.model.violations(), [""; 0]);
}
