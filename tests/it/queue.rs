//! The queue: slots, priorities, crashes and cancellation.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::log::{assert_whole, data, types};
use crate::support::{Service, bash, processes_with, scripted, until};

const CLAUDE: &str = "anthropic/claude-test";

#[tokio::test]
async fn two_workers_share_a_hundred_jobs_and_run_none_twice() {
    let mut service = Service::without_worker().await;
    for _ in 0..2 {
        service.add_worker(&[("SKILLET_SLOTS", "8")]).await;
    }
    service
        .model
        .script_with("shared", |request| match request.turn() {
            0 => Reply::call("shell.exec", json!({"command": "sleep 0.02"})),
            _ => Reply::text("done"),
        });
    let mut jobs = Vec::new();
    for number in 0..100 {
        let prompt = format!("Job {number} #shared");
        jobs.push(
            service
                .create(&json!({"skill": "shell", "model": CLAUDE, "prompt": prompt}))
                .await,
        );
    }
    let mut workers = HashSet::new();
    for job in &jobs {
        assert_eq!(service.finished(job).await["attempt"], 1);
        let events = service.events(job).await;
        assert_whole(&events);
        let [started] = data(&events, "job.started")[..] else {
            panic!("not started once: {events:#?}")
        };
        workers.insert(started["worker"].to_string());
    }
    assert_eq!(workers.len(), 2, "both took part");
    // The log would not show a second worker that runs the same job, but the model receives its requests.
    let mut asked: HashMap<String, usize> = HashMap::new();
    for request in service.model.requests("shared") {
        *asked.entry(request.prompt()).or_default() += 1;
    }
    assert_eq!(asked.len(), 100);
    assert!(asked.values().all(|times| *times == 2), "{asked:?}");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_worker_runs_as_many_jobs_at_once_as_it_has_slots() {
    let mut service = Service::without_worker().await;
    service.model.script_with("slow", |_| Reply::stall());
    let mut jobs = Vec::new();
    for _ in 0..9 {
        jobs.push(service.create(&scripted(CLAUDE, "slow")).await);
    }
    service.add_worker(&[("SKILLET_SLOTS", "3")]).await;
    let asked = || service.model.requests("slow").len();
    until(async || asked() == 3).await;
    until(async || {
        service.model.release("slow");
        service.get("/v1/queue").await.1["running"] == 0 && asked() == 9
    })
    .await;
    let mut spans = Vec::new();
    for job in &jobs {
        service.finished(job).await;
        let events = service.events(job).await;
        spans.push((
            instant(&events[1]["at"]),
            instant(&events.last().unwrap()["at"]),
        ));
    }
    let at_once = |at: DateTime<Utc>| {
        spans
            .iter()
            .filter(|(from, to)| *from <= at && at < *to)
            .count()
    };
    let most = spans.iter().map(|(from, _)| at_once(*from)).max();
    assert_eq!(most, Some(3), "{spans:?}");
}

#[tokio::test]
async fn the_higher_priority_goes_first_and_run_at_is_waited_for() {
    let mut service = Service::without_worker().await;
    let run_at = Utc::now() + TimeDelta::hours(1);
    let create = async |more: Value| {
        let mut body = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        service.create(&body).await
    };
    let later = create(json!({"run_at": run_at, "priority": 100})).await;
    let low = create(json!({"priority": -1})).await;
    let normal = create(json!({})).await;
    let high = create(json!({"priority": 5})).await;
    let shown = service.get(&format!("/v1/jobs/{later}")).await.1;
    assert_eq!(shown["queue"]["reason"], "scheduled");
    assert_eq!(instant(&shown["queue"]["run_at"]), to_micros(run_at));

    service.add_worker(&[("SKILLET_SLOTS", "1")]).await;
    let mut started = Vec::new();
    for job in [high, normal, low] {
        started.push(instant(&service.finished(&job).await["started_at"]));
    }
    assert!(started.is_sorted(), "{started:?}");

    // The job has the highest priority, and no other job waits.
    let shown = service.get(&format!("/v1/jobs/{later}")).await.1;
    assert_eq!(shown["status"], "queued");
    let soon: DateTime<Utc> =
        sqlx::query_scalar("update run set run_at = now() + interval '1 second' returning run_at")
            .fetch_one(&service.pool)
            .await
            .unwrap();
    let started = instant(&service.finished(&later).await["started_at"]);
    assert!(started >= soon, "{started} before {soon}");
}

#[tokio::test]
async fn every_crash_is_counted_and_the_third_fails_the_job() {
    let mut service = Service::start().await;
    service.model.script_with("poison", |_| Reply::stall());
    let job = service.create(&scripted(CLAUDE, "poison")).await;
    for crashes in 0..3 {
        until(async || data(&service.events(&job).await, "job.started").len() == crashes + 1).await;
        until(async || service.model.requests("poison").len() == crashes + 1).await;
        let counted: i16 = sqlx::query_scalar("select crashes from run")
            .fetch_one(&service.pool)
            .await
            .unwrap();
        assert_eq!(counted, crashes as i16);
        service.workers[crashes].kill();
        // Simulate a long silence of the worker.
        declare_dead(&service).await;
        service.add_worker(&[]).await;
    }
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["error"]["code"]),
        (&json!("failed"), &json!("worker_lost"))
    );
    assert_eq!(ended["attempt"], 3, "{:#?}", service.events(&job).await);
    let events = service.events(&job).await;
    assert_whole(&events);
    let causes: Vec<_> = data(&events, "job.retrying")
        .iter()
        .map(|data| &data["cause"])
        .collect();
    assert_eq!(causes, ["crash", "crash"]);
    assert_eq!(data(&events, "job.started").len(), 3);
}

#[tokio::test]
async fn a_worker_that_was_declared_dead_takes_nothing_before_it_begins_anew() {
    let service = Service::start().await;
    let before = service.get("/v1/workers").await.1;
    declare_dead(&service).await;
    // The worker learns about it at its next heartbeat. A job that it claimed before that would be lost at once.
    let job = service.create_shell("sleep 0.5").await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["attempt"]),
        (&json!("completed"), &json!(1))
    );
    let started = &service.events(&job).await[1]["data"];
    assert_ne!(started["worker"], before["data"][0]["id"]);
}

#[tokio::test]
async fn a_queued_job_is_cancelled_with_the_answer() {
    let mut service = Service::without_worker().await;
    let job = service.create_shell("echo never").await;
    let mut stream = service.follow(&job, 1).await;
    let (status, cancelled) = cancel(&service, &job).await;
    assert_eq!((status, &cancelled["status"]), (200, &json!("cancelled")));
    assert_eq!(stream.next().await.unwrap()["data"], cancelled);
    assert!(stream.next().await.is_none());
    service.add_worker(&[]).await;
    service
        .run(&json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")}))
        .await;
    assert_eq!(
        types(&service.events(&job).await),
        ["job.queued", "job.cancelled"]
    );
}

#[tokio::test]
async fn cancelling_kills_the_command_and_what_it_left_in_the_background() {
    let service = Service::start().await;
    let nap = format!("7001.{}", std::process::id());
    let job = service
        .create_shell(&format!("(sleep {nap} & sleep {nap}) & sleep {nap}"))
        .await;
    until(async || processes_with(&nap) == 3).await;
    cancel(&service, &job).await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["status"], "cancelled");
    until(async || processes_with(&nap) == 0).await;

    let events = service.events(&job).await;
    assert_whole(&events);
    let (status, again) = cancel(&service, &job).await;
    assert_eq!((status, again), (200, ended));
    assert_eq!(
        service.events(&job).await,
        events,
        "the second time changes nothing"
    );
}

#[tokio::test]
async fn cancelling_hangs_up_on_the_model() {
    let service = Service::start().await;
    service.model.script("stall", [Reply::stall()]);
    let job = service.create(&scripted(CLAUDE, "stall")).await;
    service.model.stalled("stall").await;
    assert_eq!(service.model.hang_ups("stall").len(), 0);
    let (_, asked) = cancel(&service, &job).await;
    assert!(
        ["running", "cancelled"].contains(&asked["status"].as_str().unwrap()),
        "{asked}"
    );
    // Cancel the job twice while it runs.
    cancel(&service, &job).await;
    service.model.hung_up("stall").await;
    assert_eq!(service.finished(&job).await["status"], "cancelled");
    assert_whole(&service.events(&job).await);
}

#[tokio::test]
async fn cancelling_a_job_that_has_ended_leaves_it_as_it_is() {
    let service = Service::start().await;
    let job = service.create_shell("echo kept").await;
    let ended = service.finished(&job).await;
    let events = service.events(&job).await;
    assert_eq!(cancel(&service, &job).await, (200, ended));
    assert_eq!(service.events(&job).await, events);
}

#[tokio::test]
async fn a_cancellation_that_nobody_was_told_of_is_found() {
    let service = Service::start().await;
    service.model.script("deaf", [Reply::stall()]);
    let job = service.create(&scripted(CLAUDE, "deaf")).await;
    service.model.stalled("deaf").await;
    let asked_at = Instant::now();
    sqlx::query("update run set cancel_requested = true")
        .execute(&service.pool)
        .await
        .unwrap();
    assert_eq!(service.finished(&job).await["status"], "cancelled");
    // The worker polls every second. The rest is a margin for a busy machine.
    assert!(
        asked_at.elapsed() < Duration::from_secs(5),
        "{:?}",
        asked_at.elapsed()
    );
}

#[tokio::test]
async fn a_job_that_was_cancelled_while_its_worker_handed_it_back_is_ended() {
    let service = Service::start().await;
    let later = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("true"), "run_at": "2999-01-01T00:00:00Z",
    });
    let job = service.create(&later).await;
    // Simulate a cancellation that arrived while the worker was writing its last event.
    sqlx::query("update run set cancel_requested = true")
        .execute(&service.pool)
        .await
        .unwrap();
    assert_eq!(service.finished(&job).await["status"], "cancelled");
}

async fn declare_dead(service: &Service) {
    sqlx::query("update worker set stopped_at = now() where stopped_at is null")
        .execute(&service.pool)
        .await
        .unwrap();
}

async fn cancel(service: &Service, job: &str) -> (u16, Value) {
    let (status, job) = service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    (status.as_u16(), job)
}

fn instant(value: &Value) -> DateTime<Utc> {
    value.as_str().unwrap().parse().unwrap()
}

/// Truncates a time to the precision of the database.
fn to_micros(at: DateTime<Utc>) -> DateTime<Utc> {
    DateTime::from_timestamp_micros(at.timestamp_micros()).unwrap()
}
