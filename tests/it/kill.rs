//! Killed and stopped processes: each job ends exactly once, and its log has no gaps.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use rustix::process::Signal;
use serde_json::{Value, json};
use shared::db;
use tests::model_server::Reply;
use tokio::task::JoinHandle;

use crate::support::log::{assert_whole, data, types};
use crate::support::{
    Service, WAIT_AT_GATE, bash, follow_through, open_gates, processes_with, scripted, until,
};

const CLAUDE: &str = "anthropic/claude-test";

/// A worker must be silent for 5 s before others take over, and they check every second. The rest is a margin for a
/// busy machine.
const TAKEOVER: Duration = Duration::from_secs(11);
/// Longer than an orderly shutdown may need, and shorter than anything that a shutdown could wait for.
const QUICK: Duration = Duration::from_secs(5);

#[tokio::test]
async fn another_worker_finishes_the_job_of_one_that_was_killed() {
    let mut service = Service::start().await;
    script_interrupted(&service);
    let job = service.create(&scripted(CLAUDE, "interrupted")).await;
    let followed = follow(&service, &job);
    service.model.stalled("interrupted").await;
    service.add_worker(&[]).await;
    service.workers[0].kill();
    let killed_at = Instant::now();
    let ended = service.finished(&job).await;
    assert!(killed_at.elapsed() < TAKEOVER, "{:?}", killed_at.elapsed());
    assert_eq!(
        (&ended["status"], &ended["attempt"]),
        (&json!("completed"), &json!(2))
    );
    assert_eq!(ended["text"], "finished");
    assert_retried(&service, &job, &["crash"]).await;
    assert_eq!(followed.await.unwrap(), replay(&service, &job).await);
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_worker_that_wakes_too_late_changes_nothing_and_begins_anew() {
    let mut service = Service::start().await;
    script_interrupted(&service);
    let job = service.create(&scripted(CLAUDE, "interrupted")).await;
    service.model.stalled("interrupted").await;
    let before = worker_ids(&service).await;
    service.add_worker(&[]).await;
    service.workers[0].signal(Signal::STOP);
    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "finished");
    assert_retried(&service, &job, &["crash"]).await;
    let log = replay(&service, &job).await;

    // The rest of the stalled reply is available when the worker wakes up.
    service.model.release("interrupted");
    service.workers[0].signal(Signal::CONT);
    let home = service.home.path().join("worker-0").display().to_string();
    let is_back = |worker: &db::worker::Worker| worker.home == home && !before.contains(&worker.id);
    until(async || {
        db::worker::list(&service.pool)
            .await
            .unwrap()
            .iter()
            .any(is_back)
    })
    .await;
    service.workers[1].kill();
    let next = service.create_shell("echo again").await;
    assert_eq!(service.finished(&next).await["text"], "again");
    let started = &service.events(&next).await[1]["data"];
    assert!(
        before.iter().all(|id| started["worker"] != id.to_string()),
        "{started}"
    );

    assert_eq!(replay(&service, &job).await, log);
    assert_eq!(service.finished(&job).await, ended);
}

#[tokio::test]
async fn a_call_of_a_job_that_ends_in_nobodys_hands_has_a_result() {
    let quick = [("SKILLET_WORKER_SILENCE", "1")];
    let mut service = Service::without_worker().await;
    service.add_worker(&quick).await;
    let nap = format!("7003.{}", std::process::id());
    let job = service.create_shell(&format!("sleep {nap}")).await;
    service.until_event(&job, "tool.started").await;
    service.workers[0].kill();
    service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    service.add_worker(&quick).await;
    assert_eq!(service.finished(&job).await["status"], "cancelled");
    let events = service.events(&job).await;
    assert_whole(&events);
    let [completed] = data(&events, "tool.completed")[..] else {
        panic!("each call has one result: {events:#?}")
    };
    let [started] = data(&events, "tool.started")[..] else {
        panic!("it was started once: {events:#?}")
    };
    assert_eq!(completed["call_id"], started["call_id"]);
    assert_eq!(completed["outcome"], "cancelled");
}

#[tokio::test]
async fn a_follower_goes_on_where_it_was_when_the_api_was_killed() {
    let mut service = Service::start().await;
    let commands = (0..8).map(|number| bash(&format!("sleep 0.2; echo {number}")));
    let prompt = commands.collect::<Vec<_>>().join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    let job = service.create(&job).await;
    let followed = follow(&service, &job);
    for completed in [1, 4] {
        until(async || data(&service.events(&job).await, "tool.completed").len() >= completed)
            .await;
        service.api.kill();
        service.restart_api();
    }
    assert_eq!(service.finished(&job).await["status"], "completed");
    assert_eq!(followed.await.unwrap(), replay(&service, &job).await);
    assert_retried(&service, &job, &[]).await;
}

#[tokio::test]
async fn a_worker_that_is_told_to_leave_hands_over_at_once_what_waits_for_the_model() {
    let mut service = Service::start().await;
    script_interrupted(&service);
    let job = service.create(&scripted(CLAUDE, "interrupted")).await;
    service.model.stalled("interrupted").await;
    service.workers[0].signal(Signal::TERM);
    let status = service.workers[0]
        .end_within(QUICK)
        .await
        .expect("it leaves");
    assert!(status.success(), "{status}");
    let counts: (i16, i16) = sqlx::query_as("select crashes, drains from run")
        .fetch_one(&service.pool)
        .await
        .unwrap();
    assert_eq!(counts, (0, 1));
    assert_eq!(db::worker::list(&service.pool).await.unwrap().len(), 0);

    service.add_worker(&[]).await;
    assert_eq!(service.finished(&job).await["text"], "finished");
    assert_retried(&service, &job, &["drain"]).await;
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_worker_that_is_told_to_leave_lets_the_running_command_end() {
    let mut service = Service::start().await;
    let slow = format!("echo begun; {WAIT_AT_GATE}; echo waited");
    let prompt = [bash(&slow), bash("echo last")].join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    let job = service.create(&job).await;
    service.until_event(&job, "tool.output").await;
    service.workers[0].signal(Signal::TERM);
    // The worker takes no more jobs.
    until(async || {
        db::worker::list(&service.pool)
            .await
            .unwrap()
            .iter()
            .all(|worker| worker.draining)
    })
    .await;
    let next = service.create_shell("echo next").await;
    open_gates(&service, 0);
    let status = service.workers[0]
        .end_within(2 * QUICK)
        .await
        .expect("it leaves");
    assert!(status.success(), "{status}");
    let events = service.events(&job).await;
    let [completed] = data(&events, "tool.completed")[..] else {
        panic!("one call ended: {events:#?}")
    };
    assert_eq!(completed["outcome"], "ok");
    assert!(
        completed["output"].as_str().unwrap().contains("waited"),
        "{completed}"
    );
    assert_eq!(types(&events).last(), Some(&"job.retrying"));
    assert_eq!(types(&service.events(&next).await), ["job.queued"]);

    service.add_worker(&[]).await;
    assert_eq!(service.finished(&job).await["text"], "last");
    assert_retried(&service, &job, &["drain"]).await;
    assert_eq!(service.finished(&next).await["attempt"], 1);
}

#[tokio::test]
async fn told_twice_a_worker_leaves_in_the_middle_of_a_command() {
    let mut service = Service::start().await;
    let nap = format!("7002.{}", std::process::id());
    let job = service.create_shell(&format!("sleep {nap}")).await;
    until(async || processes_with(&nap) == 1).await;
    service.workers[0].signal(Signal::TERM);
    until(async || {
        db::worker::list(&service.pool)
            .await
            .unwrap()
            .iter()
            .all(|worker| worker.draining)
    })
    .await;
    service.workers[0].signal(Signal::TERM);
    let status = service.workers[0]
        .end_within(QUICK)
        .await
        .expect("it leaves");
    assert!(status.success(), "{status}");
    until(async || processes_with(&nap) == 0).await;
    let events = service.events(&job).await;
    assert_eq!(types(&events).last(), Some(&"job.retrying"));
    assert_eq!(data(&events, "job.retrying")[0]["cause"], "drain");
}

#[tokio::test]
async fn a_job_survives_that_all_connections_to_the_database_are_cut() {
    let service = Service::start().await;
    let commands = (0..8).map(|number| bash(&format!("sleep 0.2; echo {number}")));
    let prompt = commands.collect::<Vec<_>>().join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    let job = service.create(&job).await;
    let followed = follow(&service, &job);
    for completed in [1, 3, 5] {
        let seen = "select count(*) from job_event where type = 'tool.completed'";
        until(async || {
            sqlx::query_scalar::<_, i64>(seen)
                .fetch_one(&service.pool)
                .await
                .unwrap()
                >= completed
        })
        .await;
        let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity
                   where datname = current_database() and application_name <> 'test'";
        let cut: i64 = sqlx::query_scalar(cut)
            .fetch_one(&service.pool)
            .await
            .unwrap();
        assert!(
            cut >= 4,
            "two that listen, the heartbeat, and those in use: {cut}"
        );
    }
    let followed = followed.await.unwrap();
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["text"]),
        (&json!("completed"), &json!("7"))
    );
    assert_eq!(ended["attempt"], 1);
    assert_eq!(followed, replay(&service, &job).await);
    let events = service.events(&job).await;
    assert_whole(&events);
    assert_eq!(data(&events, "tool.completed").len(), 8);
}

/// Scripts a command, then a reply that stalls the first time, then the final reply. The worker that takes over may
/// or may not request the first reply again.
fn script_interrupted(service: &Service) {
    let asked = AtomicUsize::new(0);
    service
        .model
        .script_with("interrupted", move |request| match request.turn() {
            0 => Reply::text("First.").then_call("shell.exec", json!({"command": "echo one"})),
            _ if asked.fetch_add(1, Ordering::Relaxed) == 0 => Reply::stall(),
            _ => Reply::text("finished"),
        });
}

/// Follows the job to its end in the background.
fn follow(service: &Service, job: &str) -> JoinHandle<Vec<String>> {
    let request = service.request(Method::GET, &format!("/v1/jobs/{job}/stream"));
    tokio::spawn(follow_through(request))
}

async fn replay(service: &Service, job: &str) -> Vec<String> {
    service.follow(job, 0).await.rest_raw().await
}

async fn worker_ids(service: &Service) -> Vec<shared::id::WorkerId> {
    let workers = db::worker::list(&service.pool).await.unwrap();
    workers.into_iter().map(|worker| worker.id).collect()
}

/// Checks that the job's log is complete, and that the job was retried for exactly these causes.
async fn assert_retried(service: &Service, job: &str, causes: &[&str]) {
    let events: Vec<Value> = service.events(job).await;
    assert_whole(&events);
    let found: Vec<_> = data(&events, "job.retrying")
        .iter()
        .map(|data| &data["cause"])
        .collect();
    assert_eq!(found, causes);
    assert_eq!(data(&events, "job.started").len(), causes.len() + 1);
}
