//! Live output and notifications, with and without a follower.

use std::time::Duration;

use chrono::{DateTime, Utc};
use reqwest::Method;
use serde_json::{Value, json};
use shared::db::{self, EVENTS_CHANNEL, Listener};
use shared::id::JobId;
use tests::model_server::Reply;
use tokio::time::timeout;

use crate::support::log::{assert_whole, text};
use crate::support::{Service, bash, scripted, until};

/// The number of lines that a command prints, one every 5 ms.
const LINES: usize = 200;

async fn print_lines(service: &Service) -> String {
    let command = format!("for n in $(seq {LINES}); do echo $n; sleep 0.005; done");
    service.create_shell(&command).await
}

fn at(event: &Value) -> DateTime<Utc> {
    event["at"].as_str().unwrap().parse().unwrap()
}

#[tokio::test]
async fn live_output_that_nobody_follows_is_written_a_few_times_a_second() {
    let service = Service::start().await;
    let job = print_lines(&service).await;
    service.finished(&job).await;
    let events = service.events(&job).await;
    assert_whole(&events);
    let lines: String = (1..=LINES).map(|n| format!("{n}\n")).collect();
    assert_eq!(text(&events, "tool.output"), lines);
    let is_output = |event: &&Value| event["type"] == "tool.output";
    let output: Vec<_> = events.iter().filter(is_output).collect();
    let lasted = at(output[output.len() - 1]) - at(output[0]);
    // Rows are written at most every 50 ms, and timers may fire early. The first and the last row are not paced.
    let most = lasted.num_milliseconds() / 40 + 3;
    assert!(
        output.len() as i64 <= most,
        "{} rows in {lasted}",
        output.len()
    );
}

#[tokio::test]
async fn a_client_that_waits_follows_its_job_from_the_creation() {
    let service = Service::start().await;
    let mut listener = Listener::open(&service.pool, &[EVENTS_CHANNEL])
        .await
        .unwrap();
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    let request = service.request(Method::POST, "/v1/jobs").json(&body);
    let waiting = request.header("Prefer", "wait=30").send();
    let job: Value = waiting.await.unwrap().json().await.unwrap();
    assert_eq!(job["status"], "completed");
    let job: JobId = job["id"].as_str().unwrap().parse().unwrap();
    let is_published = "select exists (select from followed_job where job_id = $1)";
    let is_published = sqlx::query_scalar(is_published).bind(job);
    let is_published: bool = is_published.fetch_one(&service.pool).await.unwrap();
    assert!(!is_published);
    let notified = async {
        loop {
            let notification = listener.next().await.unwrap().unwrap();
            let payload = notification.payload();
            if payload.split(',').any(|id| id == job.0.to_string()) {
                break;
            }
        }
    };
    let notified = timeout(Duration::from_secs(30), notified).await;
    notified.expect("the job is notified of");
}

#[tokio::test]
async fn live_output_is_found_after_hours_in_which_nothing_was_read() {
    let service = Service::start().await;
    let quiet = service.create_shell("true").await;
    service.finished(&quiet).await;
    let job: JobId = quiet.parse().unwrap();
    let insert = "insert into job_delta (job_id, seq, type, at, attempt, data)
                  values ($1, 1000, 'message.delta', now() - interval '2 hours', 1, '{\"text\": \"a\"}')";
    let insert = sqlx::query(insert).bind(job);
    insert.execute(&service.pool).await.unwrap();
    let found = async |unread_hours: u64| {
        let unread_for = Duration::from_secs(unread_hours * 3600);
        let found = db::event::follow(&service.pool, &[(job, 999)], unread_for, 10).await;
        found.unwrap().len()
    };
    assert_eq!((found(0).await, found(2).await), (0, 1));
}

#[tokio::test]
async fn only_followed_jobs_are_notified_of() {
    let service = Service::start().await;
    let mut listener = Listener::open(&service.pool, &[EVENTS_CHANNEL])
        .await
        .unwrap();
    let quiet = service.create_shell("true").await;
    service.finished(&quiet).await;
    // The job continues only after it is followed.
    let reply = Reply::stall().then_text("Done.");
    service.model.script("followed", [reply]);
    let body = scripted("anthropic/claude-test", "followed");
    let followed = service.create(&body).await;
    service.model.stalled("followed").await;
    let mut stream = service.follow(&followed, 0).await;
    let job: JobId = followed.parse().unwrap();
    let quiet: JobId = quiet.parse().unwrap();
    until(async || {
        let is_published = "select exists (select from followed_job where job_id = $1)";
        let is_published = sqlx::query_scalar(is_published).bind(job);
        is_published.fetch_one(&service.pool).await.unwrap()
    })
    .await;
    service.model.release("followed");
    let received = stream.rest_raw().await;
    assert!(received.last().unwrap().contains("job.completed"));
    loop {
        let next = timeout(Duration::from_secs(30), listener.next()).await;
        let notification = next
            .expect("the followed job is notified of")
            .unwrap()
            .unwrap();
        let jobs: Vec<_> = notification.payload().split(',').collect();
        assert!(!jobs.contains(&quiet.0.to_string().as_str()));
        if jobs.contains(&job.0.to_string().as_str()) {
            break;
        }
    }
}
