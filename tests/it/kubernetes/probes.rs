//! The probes of a worker.

use std::time::Duration;

use rustix::process::Signal;

use crate::outage::{admit, cut_all};
use crate::support::{Service, bash, until};

const ANYWHERE: (&str, &str) = ("SKILLET_METRICS_LISTEN", "127.0.0.1:0");

/// Returns the address of the last worker's probes.
fn probes(service: &mut Service) -> String {
    let line = service.workers.last_mut().unwrap().first_line();
    let url = line.strip_prefix("metrics at ").unwrap();
    url.trim_end_matches("/metrics").to_owned()
}

async fn ask(url: &str, path: &str) -> (u16, String) {
    let response = reqwest::get(format!("{url}{path}")).await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[tokio::test]
async fn a_worker_is_ready_once_it_is_registered_and_while_its_database_answers() {
    let mut service = Service::without_worker().await;
    let mut lock = service.pool.begin().await.unwrap();
    sqlx::query("lock table worker in exclusive mode")
        .execute(&mut *lock)
        .await
        .unwrap();
    let worker = service.start_worker(&[], &[ANYWHERE]);
    service.workers.push(worker);
    let url = probes(&mut service);
    assert_eq!(ask(&url, "/healthz").await, (200, "ok".to_owned()));
    let not_registered = (503, "the worker is not registered".to_owned());
    assert_eq!(ask(&url, "/readyz").await, not_registered);
    lock.rollback().await.unwrap();
    until(async || ask(&url, "/readyz").await == (200, "ready".to_owned())).await;

    admit(&service, false).await;
    cut_all(&service.pool).await;
    until(async || ask(&url, "/readyz").await.0 == 503).await;
    assert_eq!(ask(&url, "/healthz").await.0, 200);
    admit(&service, true).await;
    until(async || ask(&url, "/readyz").await.0 == 200).await;
}

#[tokio::test]
async fn a_draining_worker_is_not_ready_and_still_shows_metrics() {
    let mut service = Service::without_worker().await;
    service.add_worker(&[ANYWHERE]).await;
    let url = probes(&mut service);
    until(async || ask(&url, "/readyz").await.0 == 200).await;
    let job = service.create_shell("sleep 600").await;
    service.until_event(&job, "tool.started").await;
    service.workers[0].signal(Signal::TERM);
    let drains = (503, "the worker is draining".to_owned());
    until(async || ask(&url, "/readyz").await == drains).await;
    assert_eq!(ask(&url, "/healthz").await.0, 200);
    let (status, metrics) = ask(&url, "/metrics").await;
    assert!(
        status == 200 && metrics.contains("skillet_worker_slots_used 1"),
        "{metrics}"
    );
    // A second signal ends the worker at once.
    service.workers[0].signal(Signal::TERM);
    let status = service.workers[0].end_within(Duration::from_secs(30)).await;
    assert!(status.unwrap().success(), "{}", service.logs());
}

#[tokio::test]
async fn demand_counts_ready_and_running_jobs() {
    let mut service = Service::without_worker().await;
    service.add_worker(&[("SKILLET_SLOTS", "1")]).await;
    let running = service.create_shell("sleep 600").await;
    service.until_event(&running, "tool.started").await;
    for _ in 0..2 {
        service.create_shell("true").await;
    }
    let later = serde_json::json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("true"), "run_at": "2999-01-01T00:00:00Z",
    });
    service.create(&later).await;
    let (_, queue) = service.get("/v1/queue").await;
    assert_eq!((&queue["ready"], &queue["running"]), (&2.into(), &1.into()));
    assert_eq!(queue["demand"], 3, "{queue}");
}
