//! Due schedules.

use reqwest::Method;
use serde_json::{Value, json};

use super::{count, create, hourly, hourly_with, pass_hours, pause_queue, runs, settled, states};
use crate::support::{Service, bash, until};

#[tokio::test]
async fn a_time_that_has_come_makes_a_job_that_names_its_schedule() {
    let service = Service::start().await;
    let path = create(&service, &hourly("a")).await;
    pass_hours(&service, 1.0).await;
    let found = settled(&service, &path, 1).await;
    assert_eq!(states(&found), ["started"]);
    let job = service.finished(found[0]["job_id"].as_str().unwrap()).await;
    assert_eq!(job["status"], "completed", "{job:#}");
    assert!(
        path.ends_with(job["schedule_id"].as_str().unwrap()),
        "{job:#}"
    );
    let run = &runs(&service, &path).await[0];
    assert_eq!(
        (&run["job_status"], &run["trigger"]),
        (&json!("completed"), &json!("schedule"))
    );
}

#[tokio::test]
async fn three_workers_miss_no_time_and_double_none() {
    let mut service = Service::without_worker().await;
    pause_queue(&service).await;
    create(&service, &hourly("first")).await;
    let more = "insert into schedule
                    select (overlay(id::text placing lpad(to_hex(n), 12, '0') from 25))::uuid, tenant_id, 'n' || n, cron,
                        time_zone, interval_seconds, job, paused, overlap, catch_up, catch_up_limit, jitter_seconds,
                        starts_at, ends_at, next_at, created_at, version, updated_at
                    from schedule, generate_series(1, 299) as n";
    sqlx::query(more).execute(&service.pool).await.unwrap();
    for _ in 0..3 {
        service.add_worker(&[]).await;
    }
    pass_hours(&service, 1.0).await;
    until(async || {
        count(
            &service,
            "select count(*) from schedule_run where status = 'started'",
        )
        .await
            == 300
    })
    .await;
    // There is one run for each schedule, one job for each run, and no job without a run.
    for (query, expected) in [
        ("select count(*) from schedule_run", 300),
        ("select count(distinct schedule_id) from schedule_run", 300),
        ("select count(distinct job_id) from schedule_run", 300),
        (
            "select count(*) from job join schedule_run on job_id = id and job.schedule_id = schedule_run.schedule_id",
            300,
        ),
        ("select count(*) from job", 300),
    ] {
        assert_eq!(count(&service, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn a_run_that_a_lost_worker_claimed_is_started_by_another() {
    let service = Service::start().await;
    pause_queue(&service).await;
    let path = create(&service, &hourly("a")).await;
    let claimed =
        "insert into schedule_run (schedule_id, scheduled_for, due_at, status, claimed_at)
                   select id, now(), now(), 'pending', now() from schedule";
    sqlx::query(claimed).execute(&service.pool).await.unwrap();
    let waits = create(&service, &hourly("b")).await;
    pass_hours(&service, 1.0).await;
    settled(&service, &waits, 1).await;
    let pending = runs(&service, &path).await;
    assert!(
        pending.iter().any(|run| run["status"] == "pending"),
        "{pending:#?}"
    );
    let lost =
        "update schedule_run set claimed_at = now() - interval '1 minute' where status = 'pending'";
    sqlx::query(lost).execute(&service.pool).await.unwrap();
    until(async || {
        runs(&service, &path)
            .await
            .iter()
            .all(|run| run["status"] != "pending")
    })
    .await;
}

#[tokio::test]
async fn a_run_that_comes_while_a_job_has_not_ended_is_skipped_waits_or_cancels_it() {
    let service = Service::start().await;
    pause_queue(&service).await;
    let mut paths = Vec::new();
    for overlap in ["skip", "queue", "cancel_running"] {
        let fields = json!({"overlap": overlap});
        paths.push(create(&service, &hourly_with(overlap, fields)).await);
    }
    pass_hours(&service, 1.0).await;
    for path in &paths {
        settled(&service, path, 1).await;
    }
    pass_hours(&service, 1.0).await;
    let skipped = settled(&service, &paths[0], 2).await;
    assert_eq!(states(&skipped), ["started", "overlap"]);
    let replaced = settled(&service, &paths[2], 2).await;
    assert_eq!(states(&replaced), ["started", "started"]);
    // The job of the earlier run is cancelled after the new one has started.
    until(async || runs(&service, &paths[2]).await[0]["job_status"] == "cancelled").await;
    assert_eq!(replaced[1]["job_status"], "queued");
    let waiting = runs(&service, &paths[1]).await;
    assert_eq!(states(&waiting), ["started", "pending"]);
    let job = waiting[0]["job_id"].as_str().unwrap();
    service
        .post(&format!("/v1/jobs/{job}/cancel"), &json!({}))
        .await;
    let went_on = settled(&service, &paths[1], 2).await;
    assert_eq!(states(&went_on), ["started", "started"]);
}

#[tokio::test]
async fn a_run_that_cannot_start_does_not_cancel_the_job_before_it() {
    let service = Service::start().await;
    pause_queue(&service).await;
    let job = job_of_agent(&service).await;
    let fields = json!({"job": job, "overlap": "cancel_running"});
    let path = create(&service, &hourly_with("replacing", fields)).await;
    pass_hours(&service, 1.0).await;
    settled(&service, &path, 1).await;
    delete_agent(&service).await;
    pass_hours(&service, 1.0).await;
    let runs = settled(&service, &path, 2).await;
    assert_eq!(states(&runs), ["started", "failed"]);
    assert_eq!(runs[0]["job_status"], "queued");
}

#[tokio::test]
async fn a_run_is_requested_at_any_time_and_once_with_a_key() {
    let service = Service::without_worker().await;
    let path = create(&service, &hourly_with("a", json!({"paused": true}))).await;
    let run = || service.request(Method::POST, &format!("{path}/run"));
    for _ in 0..2 {
        assert_eq!(run().send().await.unwrap().status(), 202);
    }
    let keyed = || run().header("Idempotency-Key", "k").send();
    assert_eq!(keyed().await.unwrap().status(), 202);
    let replayed = keyed().await.unwrap();
    assert_eq!(replayed.status(), 200);
    let job: serde_json::Value = replayed.json().await.unwrap();
    assert!(path.ends_with(job["schedule_id"].as_str().unwrap()));
    let found = runs(&service, &path).await;
    assert_eq!(states(&found), ["started"; 3]);
    assert!(
        found.iter().all(|run| run["trigger"] == "manual"),
        "{found:#?}"
    );
    assert_eq!(found[2]["job_id"], job["id"]);
}

#[tokio::test]
async fn a_job_that_cannot_be_created_is_told_in_the_history_and_stops_no_other_schedule() {
    let service = Service::start().await;
    pause_queue(&service).await;
    let job = job_of_agent(&service).await;
    let broken = create(&service, &hourly_with("broken", json!({"job": job}))).await;
    let sound = create(&service, &hourly("sound")).await;
    delete_agent(&service).await;
    for round in 1..=2 {
        pass_hours(&service, 1.0).await;
        let failed = settled(&service, &broken, round).await;
        let last = &failed[round - 1];
        assert_eq!(
            (&last["status"], &last["job_id"]),
            (&json!("failed"), &json!(null))
        );
        assert_eq!(last["error"]["code"], "invalid_request", "{last:#}");
        assert_eq!(
            last["error"]["errors"][0]["pointer"], "/job/agent",
            "{last:#}"
        );
    }
    assert_eq!(
        states(&settled(&service, &sound, 2).await),
        ["started", "overlap"]
    );
    // The broken schedule can still be paused.
    let (status, _) = service.patch(&broken, &json!({"paused": true})).await;
    assert_eq!(status, 200);
}

/// Creates an agent, and returns a job of it.
async fn job_of_agent(service: &Service) -> Value {
    let agent = json!({"soul": "I run.", "tools": ["shell.exec"]});
    let put = service.request(Method::PUT, "/v1/agents/gone").json(&agent);
    assert_eq!(put.send().await.unwrap().status(), 201);
    json!({"agent": "gone", "model": "script/bash", "prompt": bash("true")})
}

async fn delete_agent(service: &Service) {
    let deleted = service.request(Method::DELETE, "/v1/agents/gone").send();
    assert_eq!(deleted.await.unwrap().status(), 204);
}
