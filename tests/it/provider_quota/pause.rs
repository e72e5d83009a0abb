//! Pauses that a provider requests, which apply to all workers.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use tests::model_server::Reply;

use super::{CLAUDE, service};
use crate::support::log::data;
use crate::support::{scripted, until};

const PAUSE: Duration = Duration::from_secs(10);

#[tokio::test]
async fn what_one_worker_is_told_the_others_know() {
    let mut service = service("").await;
    for _ in 0..2 {
        service.add_worker(&[("SKILLET_SLOTS", "1")]).await;
    }
    let was_asked = AtomicBool::new(false);
    service.model.script_with("paused", move |_| {
        if was_asked.swap(true, Ordering::Relaxed) {
            Reply::text("ok")
        } else {
            Reply::status(429).retry_after(PAUSE.as_secs())
        }
    });
    let first = service.create(&scripted(CLAUDE, "paused")).await;
    until(async || service.model.requests("paused").len() == 1).await;
    until(async || super::provider_status(&service).await == "limited").await;
    let second = service.create(&scripted(CLAUDE, "paused")).await;
    for job in [&first, &second] {
        let job = service.finished(job).await;
        assert_eq!(
            (&job["status"], &job["attempt"]),
            (&json!("completed"), &json!(1))
        );
    }
    let requests = service.model.requests("paused");
    assert_eq!(requests.len(), 3);
    for later in &requests[1..] {
        let waited = later.at - requests[0].at;
        // The two clocks are read at different times.
        assert!(waited + Duration::from_millis(50) >= PAUSE, "{waited:?}");
    }
    let events = service.events(&second).await;
    let lines = data(&events, "log");
    let shown = lines.iter().any(|line| {
        let message = line["message"].as_str().unwrap();
        message.starts_with("waiting for the quota of the provider `anthropic`, until about ")
    });
    assert!(shown, "{lines:?}");
    assert_eq!(super::provider_status(&service).await, "ready");
}

#[tokio::test]
async fn a_long_pause_leaves_the_slot_to_others_and_counts_no_attempt() {
    let mut service = service("").await;
    service.add_worker(&[("SKILLET_SLOTS", "1")]).await;
    let was_asked = AtomicBool::new(false);
    service.model.script_with("long", move |_| {
        if was_asked.swap(true, Ordering::Relaxed) {
            Reply::text("ok")
        } else {
            Reply::status(429).retry_after(1)
        }
    });
    // The job creates the account row. Then simulate a pause that another worker received.
    let warm = service.run(&scripted(CLAUDE, "long")).await;
    assert_eq!(warm["status"], "completed");
    sqlx::query("update provider_account set paused_until = now() + interval '10 minutes'")
        .execute(&service.pool)
        .await
        .unwrap();
    // Workers cache the state of the account for at most a second.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let job = service.create(&scripted(CLAUDE, "long")).await;
    let events = service.until_event(&job, "job.retrying").await;
    assert_eq!(data(&events, "job.retrying")[0]["cause"], "provider_pause");
    let counts: (i16, i16, i16) =
        sqlx::query_as("select crashes, failures, model_outages from run")
            .fetch_one(&service.pool)
            .await
            .unwrap();
    assert_eq!(counts, (0, 0, 0));
    let other = service.create_shell("echo meanwhile").await;
    assert_eq!(service.finished(&other).await["status"], "completed");
    sqlx::query("update provider_account set paused_until = null")
        .execute(&service.pool)
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    sqlx::query("update run set run_at = now() where state = 'scheduled'")
        .execute(&service.pool)
        .await
        .unwrap();
    assert_eq!(service.finished(&job).await["status"], "completed");
}
