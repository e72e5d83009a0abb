//! Budgets across crashes. A model request that may have been billed always counts.

use rustix::process::Signal;
use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{CLAUDE, limited, service, tokens};
use crate::support::Service;
use crate::support::log::data;

async fn presumed(service: &Service, job: &str) -> u64 {
    let events = service.events(job).await;
    let reserved = data(&events, "budget.reserved");
    reserved.last().unwrap()["tokens"].as_u64().unwrap()
}

#[tokio::test]
async fn a_call_that_died_with_its_worker_counts_in_full() {
    let mut service = service().await;
    service.model.script(
        "died",
        [
            Reply::call("shell.exec", json!({"command": "echo one"})).usage(2_000, 100),
            Reply::stall(),
            Reply::text("Done.").usage(2_200, 50),
        ],
    );
    let limits = json!({"max_total_tokens": 60_000, "max_cost_usd": 5});
    let job = service.create(&limited(CLAUDE, "died", limits)).await;
    service.model.stalled("died").await;
    let lost = presumed(&service, &job).await;
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["text"], &ended["attempt"]),
        (&json!("Done."), &json!(2)),
        "{ended:#}\n{}",
        service.logs()
    );
    let usage = &ended["usage"];
    assert_eq!(tokens(usage), 2_100 + 2_250);
    assert_eq!(usage["presumed_tokens"], lost);
    assert!(usage["presumed_cost_usd"].as_f64().unwrap() > 0.0);
}

#[tokio::test]
async fn what_a_dead_worker_may_have_used_is_not_there_for_the_next() {
    let mut service = service().await;
    service
        .model
        .script("broke", [Reply::stall(), Reply::text("Never said.")]);
    let limits = json!({"max_total_tokens": 20_000, "max_tokens": 10_000});
    let job = service.create(&limited(CLAUDE, "broke", limits)).await;
    service.model.stalled("broke").await;
    let lost = presumed(&service, &job).await;
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["stop_reason"]),
        (&json!("completed"), &json!("max_total_tokens")),
        "{ended:#}"
    );
    assert_eq!(ended["usage"]["presumed_tokens"], lost);
    assert_eq!(service.model.requests("broke").len(), 1);
}

#[tokio::test]
async fn a_reply_that_nobody_waited_for_counts_in_full() {
    let service = service().await;
    service.model.script("unheard", [Reply::stall()]);
    let limits = json!({"max_total_tokens": 60_000});
    let job = service.create(&limited(CLAUDE, "unheard", limits)).await;
    service.model.stalled("unheard").await;
    service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["status"], "cancelled");
    assert_eq!(
        ended["usage"]["presumed_tokens"],
        presumed(&service, &job).await
    );
}

#[tokio::test]
async fn a_worker_that_leaves_waits_for_a_reply_that_a_budget_pays_for() {
    let mut service = service().await;
    service.model.script(
        "leaving",
        [
            Reply::stall().then_call("shell.exec", json!({"command": "echo one"})),
            Reply::text("Done."),
        ],
    );
    let limits = json!({"max_total_tokens": 60_000});
    let job = service.create(&limited(CLAUDE, "leaving", limits)).await;
    service.model.stalled("leaving").await;
    service.workers[0].signal(Signal::TERM);
    crate::support::until(async || {
        let workers = shared::db::worker::list(&service.pool).await.unwrap();
        workers.iter().all(|worker| worker.draining)
    })
    .await;
    service.model.release("leaving");
    assert!(service.workers[0].wait());
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["text"], &ended["attempt"]),
        (&json!("Done."), &json!(2)),
        "{ended:#}"
    );
    assert_eq!(ended["usage"]["presumed_tokens"], Value::Null);
    assert_eq!(service.model.requests("leaving").len(), 2);
    let events = service.events(&job).await;
    assert_eq!(data(&events, "job.retrying")[0]["cause"], "drain");
}
