//! Promotions of a standby under load. Nothing is lost and work continues.

mod start;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use reqwest::{Method, RequestBuilder, StatusCode};
use serde_json::{Value, json};
use shared::db;
use tests::replication::{Loss, ReplicatedPostgres};
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::support::log::assert_whole;
use crate::support::{Service, bash, follow_through, parse, until};

/// The number of clients. Each creates one job after another.
const CLIENTS: usize = 2;
/// The number of jobs created before the primary is lost, and the minimum after the promotion.
const JOBS: usize = 6;
/// The pause of a client after each accepted job.
const PACE: Duration = Duration::from_millis(300);
/// The pause of a client before a retry.
const RETRY_PAUSE: Duration = Duration::from_millis(100);
/// The number of requests that are rejected in a row while there is no primary.
const LOOKS: usize = 10;
/// The longest time from the promotion until a job is accepted and until one is started. It is a few seconds on an
/// idle machine.
const RESUMPTION: TimeDelta = TimeDelta::seconds(60);
/// An outage after which workers have given up their jobs, as they do after 4 s.
const LONG_OUTAGE: Duration = Duration::from_secs(7);

#[tokio::test]
async fn a_promotion_long_after_the_primary_was_killed_loses_nothing() {
    promote_after(Loss::Killed, LONG_OUTAGE).await;
}

#[tokio::test]
async fn a_promotion_while_the_primary_no_longer_answers_loses_nothing() {
    promote_after(Loss::Silent, Duration::ZERO).await;
}

#[tokio::test]
async fn a_promotion_while_the_primary_only_reads_loses_nothing() {
    promote_after(Loss::ReadOnly, Duration::ZERO).await;
}

#[tokio::test]
async fn a_promotion_while_the_primary_goes_on_loses_nothing() {
    promote_after(Loss::CutOff, Duration::ZERO).await;
}

#[tokio::test]
async fn a_primary_that_was_replaced_is_not_asked_again_when_the_new_one_fails() {
    let postgres = ReplicatedPostgres::start().await.unwrap();
    let service = start_service(&postgres).await;
    postgres.lose_primary(Loss::CutOff).await.unwrap();
    postgres.promote().unwrap();
    let request = service.request(Method::POST, "/v1/jobs");
    let job = create(&request.header("Idempotency-Key", "after")).await;
    let job = format!("/v1/jobs/{job}");
    let found = service.request(Method::GET, &job).send().await.unwrap();
    assert_eq!(found.status(), StatusCode::OK);

    postgres.lose_standby().unwrap();
    // The first primary still responds, but it does not have the job.
    for _ in 0..LOOKS {
        let found = service.request(Method::GET, &job).send().await.unwrap();
        assert_eq!(found.status(), StatusCode::SERVICE_UNAVAILABLE);
        sleep(RETRY_PAUSE).await;
    }
    assert!(
        service
            .logs()
            .contains("another server was promoted after it")
    );
}

async fn promote_after(loss: Loss, outage: Duration) {
    let postgres = ReplicatedPostgres::start().await.unwrap();
    let service = start_service(&postgres).await;
    let long = service.create(&long_job()).await;
    let request = service.request(Method::GET, &format!("/v1/jobs/{long}/stream"));
    let followed = tokio::spawn(follow_through(request));
    let load = Load::start(&service);
    service.until_event(&long, "tool.completed").await;
    load.goes_on().await;

    postgres.lose_primary(loss).await.unwrap();
    sleep(outage).await;
    postgres.promote().unwrap();
    let promoted_at = Utc::now();
    load.goes_on().await;

    let accepted = load.end().await;
    let mut started = Vec::new();
    for job in accepted.iter().map(|accepted| &accepted.job).chain([&long]) {
        let ended = service.finished(job).await;
        let status = &ended["status"];
        assert_eq!(status, "completed", "{ended:#}\n{}", service.logs());
        let log = service.events(job).await;
        assert_whole(&log);
        started.extend(times(&log, "job.started"));
    }
    let followed = followed.await.unwrap();
    let followed: Vec<_> = followed.iter().map(|event| parse(event)).collect();
    assert_eq!(followed, service.events(&long).await);
    assert_only(&service, accepted.iter().map(|it| &it.job).chain([&long])).await;

    let accepted = accepted.iter().map(|accepted| accepted.at);
    let accepted = first_after(promoted_at, accepted);
    let started = first_after(promoted_at, started);
    eprintln!(
        "{loss:?}: accepted jobs {accepted} after the promotion, started them {started} after it"
    );
    assert!(accepted < RESUMPTION, "{accepted}\n{}", service.logs());
    assert!(started < RESUMPTION, "{started}\n{}", service.logs());
}

/// Starts an API and two workers on a database with two hosts.
async fn start_service(postgres: &ReplicatedPostgres) -> Service {
    let server = postgres.primary_url("postgres");
    db::create_database(&server, "skillet").await.unwrap();
    let url = postgres.url("skillet");
    let pool = db::connect(&url, "test", 1).await.unwrap();
    db::migrate(&pool).await.unwrap();
    pool.close().await;
    let mut service = Service::with_database(url, &[]).await;
    service.add_worker(&[]).await;
    service.add_worker(&[]).await;
    service
}

/// Returns a job that starts before the loss and ends after the promotion.
fn long_job() -> Value {
    let step = |step: usize| bash(&format!("echo step {step}; sleep 0.3; echo end of it"));
    let prompt = (0..40).map(step).collect::<Vec<_>>().join("\n");
    json!({"skill": "shell", "model": "script/bash", "prompt": prompt})
}

/// Asserts that the database has exactly these jobs and that no id repeats.
async fn assert_only<'a>(service: &Service, jobs: impl Iterator<Item = &'a String>) {
    let jobs: Vec<_> = jobs.collect();
    let distinct: HashSet<_> = jobs.iter().collect();
    assert_eq!(distinct.len(), jobs.len());
    // An existing connection may lead to the lost primary, which may still respond.
    let pool = db::connect(&service.database_url, "test", 1).await.unwrap();
    let stored = sqlx::query_scalar::<_, i64>("select count(*) from job");
    let stored = stored.fetch_one(&pool).await.unwrap();
    assert_eq!(stored, jobs.len() as i64);
}

/// Returns the times of all events of a type.
fn times(log: &[Value], kind: &str) -> Vec<DateTime<Utc>> {
    let found = log.iter().filter(|event| event["type"] == kind);
    let times = found.map(|event| event["at"].as_str().unwrap().parse().unwrap());
    times.collect()
}

/// Returns the delay from `at` to the first later time.
fn first_after(at: DateTime<Utc>, times: impl IntoIterator<Item = DateTime<Utc>>) -> TimeDelta {
    let later = times.into_iter().filter(|time| *time > at);
    later.min().expect("work goes on") - at
}

/// Clients that create short jobs and retry until they are accepted.
struct Load {
    clients: JoinSet<Vec<Accepted>>,
    count: Arc<AtomicUsize>,
    may_end: Arc<AtomicBool>,
}

struct Accepted {
    job: String,
    at: DateTime<Utc>,
}

impl Load {
    fn start(service: &Service) -> Self {
        let mut load = Self {
            clients: JoinSet::new(),
            count: Arc::default(),
            may_end: Arc::default(),
        };
        for client in 0..CLIENTS {
            let request = service.request(Method::POST, "/v1/jobs");
            let (count, may_end) = (load.count.clone(), load.may_end.clone());
            load.clients.spawn(async move {
                let mut accepted = Vec::new();
                while !may_end.load(Ordering::Relaxed) {
                    let key = format!("{client}-{}", accepted.len());
                    let request = request.try_clone().unwrap();
                    let job = create(&request.header("Idempotency-Key", key)).await;
                    accepted.push(Accepted {
                        job,
                        at: Utc::now(),
                    });
                    count.fetch_add(1, Ordering::Relaxed);
                    sleep(PACE).await;
                }
                accepted
            });
        }
        load
    }

    /// Waits until at least [`JOBS`] more jobs are accepted.
    async fn goes_on(&self) {
        let wanted = self.count.load(Ordering::Relaxed) + JOBS;
        until(async || self.count.load(Ordering::Relaxed) >= wanted).await;
    }

    /// Waits for the clients to end and returns all accepted jobs.
    async fn end(self) -> Vec<Accepted> {
        self.may_end.store(true, Ordering::Relaxed);
        self.clients
            .join_all()
            .await
            .into_iter()
            .flatten()
            .collect()
    }
}

/// Creates a job, like a client that retries while the service is unavailable.
async fn create(request: &RequestBuilder) -> String {
    let prompt = bash("echo one; sleep 0.2; echo two");
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    loop {
        let request = request.try_clone().unwrap().json(&body);
        // The body of a response may be cut off too.
        if let Ok(response) = request.send().await
            && let status = response.status()
            && let Ok(body) = response.json::<Value>().await
        {
            if status == StatusCode::ACCEPTED {
                return body["id"].as_str().unwrap().to_owned();
            }
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{body:#}");
        }
        sleep(RETRY_PAUSE).await;
    }
}
