//! A tenant's budget, shared by many jobs on several workers.

use std::time::Duration;

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::tenant::{budget, give};
use super::{CLAUDE, GPT, be_greedy, limited, nanos, service, tokens};
use crate::support::{Service, until};

/// Waits until nothing is reserved, and returns the spent amounts.
async fn settled(service: &Service) -> Value {
    let mut found = Value::Null;
    until(async || {
        found = budget(service).await;
        found["reserved"] == json!({"tokens": 0, "cost_usd": 0.0})
    })
    .await;
    found["spent"].clone()
}

/// Whether a worker has queried the budget, as it does when it could not reserve enough.
async fn has_looked(service: &Service) -> bool {
    let looked = "select exists (
            select from pg_stat_activity
            where datname = current_database() and application_name = 'skillet worker'
              and query like '%left join tenant_budget%'
        )";
    let looked = sqlx::query_scalar(looked).fetch_one(&service.pool);
    looked.await.unwrap()
}

#[tokio::test]
async fn many_jobs_at_once_never_use_more_than_there_is_and_nearly_all_of_it() {
    let mut service = service().await;
    service.add_worker(&[]).await;
    service.model.set_delay(Duration::from_millis(20));
    for (number, limits) in [
        json!({"max_total_tokens": 200_000}),
        json!({"max_cost_usd": 1.2}),
    ]
    .into_iter()
    .enumerate()
    {
        give(&service, &limits).await;
        let before = budget(&service).await["spent"].clone();
        assert_eq!(before["tokens"], 0);
        let mut jobs = Vec::new();
        for job in 0..24 {
            let marker = format!("many-{number}-{job}");
            be_greedy(&service, &marker);
            let model = if job % 2 == 0 { CLAUDE } else { GPT };
            let job_limits = json!({"max_iterations": 100, "max_tokens": 2_000});
            jobs.push(service.create(&limited(model, &marker, job_limits)).await);
        }
        let (mut used, mut cost) = (0, 0);
        for job in &jobs {
            let ended = service.finished(job).await;
            assert_eq!(
                (&ended["status"], &ended["stop_reason"]),
                (&json!("completed"), &json!("tenant_budget")),
                "{ended:#}\n{}",
                service.logs()
            );
            if ended["usage"]["iterations"] != 0 {
                used += tokens(&ended["usage"]);
                cost += nanos(&ended["usage"]["cost_usd"]);
            }
        }
        let spent = settled(&service).await;
        assert_eq!(
            (spent["tokens"].as_u64(), nanos(&spent["cost_usd"])),
            (Some(used), cost)
        );
        if number == 0 {
            assert!((190_000..=200_000).contains(&used), "{used}");
        } else {
            assert!((1_100_000_000..=1_200_000_000).contains(&cost), "{cost}");
        }
        let anew = "update tenant_budget set spent_tokens = 0, spent_cost = 0";
        sqlx::query(anew).execute(&service.pool).await.unwrap();
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_call_waits_for_what_another_gives_back() {
    let service = service().await;
    give(&service, &json!({"max_total_tokens": 30_000})).await;
    service
        .model
        .script("first", [Reply::stall().usage(100, 10)]);
    service
        .model
        .script("second", [Reply::text("Done.").usage(100, 10)]);
    let limits = json!({"max_tokens": 15_000});
    let first = service
        .create(&limited(CLAUDE, "first", limits.clone()))
        .await;
    service.model.stalled("first").await;
    let second = service.create(&limited(CLAUDE, "second", limits)).await;
    service.until_event(&second, "job.started").await;
    // The second job could not reserve enough, and has queried the budget.
    until(async || has_looked(&service).await).await;
    assert_eq!(service.model.requests("second").len(), 0);
    service.model.release("first");
    assert_eq!(service.finished(&first).await["stop_reason"], "end_turn");
    let second = service.finished(&second).await;
    assert_eq!(second["text"], "Done.", "{second:#}");
    assert_eq!(settled(&service).await["tokens"], 220);
    assert_eq!(super::cap(&service.model.requests("second")[0]), 15_000);
}

#[tokio::test]
async fn what_a_job_has_reserved_is_spent_when_it_is_cancelled_or_its_worker_dies() {
    let mut service = service().await;
    give(
        &service,
        &json!({"max_total_tokens": 1_000_000, "max_cost_usd": 50}),
    )
    .await;
    service.model.script("cancelled", [Reply::stall()]);
    let job = service
        .create(&limited(CLAUDE, "cancelled", json!({})))
        .await;
    service.model.stalled("cancelled").await;
    let held = budget(&service).await;
    assert!(
        held["reserved"]["tokens"].as_u64().unwrap() > 4096,
        "{held:#}"
    );
    assert_eq!(held["spent"]["tokens"], 0);
    service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    service.finished(&job).await;
    let cancelled = settled(&service).await;
    assert_eq!(cancelled, held["reserved"]);

    service.model.script(
        "killed",
        [Reply::stall(), Reply::text("Done.").usage(100, 10)],
    );
    let job = service.create(&limited(CLAUDE, "killed", json!({}))).await;
    service.model.stalled("killed").await;
    let lost = budget(&service).await["reserved"]["tokens"]
        .as_u64()
        .unwrap();
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "Done.", "{ended:#}");
    assert_eq!(ended["usage"]["presumed_tokens"], lost);
    let spent = settled(&service).await["tokens"].as_u64().unwrap();
    assert_eq!(spent, cancelled["tokens"].as_u64().unwrap() + lost + 110);
}

#[tokio::test]
async fn what_the_provider_declined_is_given_back() {
    let service = service().await;
    give(&service, &json!({"max_total_tokens": 1_000_000})).await;
    service.model.script("declined", [Reply::status(400)]);
    let job = service.run(&limited(CLAUDE, "declined", json!({}))).await;
    assert_eq!(job["error"]["code"], "model_refused", "{job:#}");
    assert_eq!(settled(&service).await["tokens"], 0);
    assert_eq!(job["usage"]["presumed_tokens"], Value::Null);
}
