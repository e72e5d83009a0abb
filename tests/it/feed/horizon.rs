//! Completeness of the feed when transactions commit late.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use shared::db::log::{Append, Lease, RunTransition, finish};
use shared::db::{self, Pool};
use shared::event::{EventData, JobRetrying, LogLevel, LogLine, RetryCause};
use shared::id::{JobId, TenantId};
use shared::job::{JobResult, Outcome};
use shared::key::Scope;
use sqlx::AssertSqlSafe;
use tests::new_job::new_job;
use uuid::Uuid;

use super::{by_job, milestones, open, until_ends};
use crate::support::{Service, create_key, parse};

const WRITERS: usize = 8;
const JOBS_A_WRITER: usize = 30;
/// One in this number of transactions is slow: it commits after others that began later.
const SLOW: usize = 4;
const DELAY: Duration = Duration::from_millis(50);

#[tokio::test]
async fn each_feed_equals_the_milestones_of_its_logs_while_transactions_commit_late() {
    let mut service = Service::without_worker().await;
    let first_key = service.key.clone();
    let second_key = create_key(&service.pool, "second", &[Scope::Jobs]).await;
    let mut streams = Vec::new();
    for key in [&first_key, &second_key] {
        service.key.clone_from(key);
        streams.push(open(&service, "").await.0);
    }
    let mut tenants = Vec::new();
    for name in ["default", "second"] {
        let tenant = db::tenant::get_or_insert(&service.pool, name)
            .await
            .unwrap();
        tenants.push(tenant.id);
    }
    let pool = db::connect(&service.database_url, "writers", WRITERS as u32)
        .await
        .unwrap();
    let writers =
        (0..WRITERS).map(|writer| tokio::spawn(write(pool.clone(), writer, tenants[writer % 2])));
    let writers: Vec<_> = writers.collect();
    let mut received = Vec::new();
    for stream in &mut streams {
        let events = until_ends(stream, JOBS_A_WRITER * WRITERS / 2).await;
        received.push(events.iter().map(|raw| parse(raw)).collect::<Vec<_>>());
    }
    let mut jobs: [Vec<String>; 2] = Default::default();
    for (writer, done) in writers.into_iter().enumerate() {
        jobs[writer % 2].extend(done.await.unwrap());
    }
    let keys = [first_key, second_key];
    for ((key, jobs), received) in keys.into_iter().zip(&jobs).zip(&received) {
        service.key = key;
        let logs = milestones(&service, jobs).await;
        assert_eq!(by_job(received), logs, "the stream");
        assert_eq!(by_job(&pages(&service).await), logs, "the pages");
    }
}

/// Creates jobs and appends to their logs like the service does, in transactions of which some are slow.
async fn write(pool: Pool, writer: usize, tenant: TenantId) -> Vec<String> {
    let mut jobs = Vec::new();
    for number in 0..JOBS_A_WRITER {
        let new = new_job(tenant);
        let (id, mut transaction) = (new.id, pool.begin().await.unwrap());
        let new = [new];
        let at = db::job::insert(&mut *transaction, false, &new)
            .await
            .unwrap();
        let [new] = new;
        commit(transaction, number + writer).await;

        let retrying = EventData::JobRetrying(JobRetrying {
            cause: RetryCause::Drain,
            message: "again".to_owned(),
            run_at: at,
        });
        let events = vec![line(), retrying, line()];
        append(
            &pool,
            (id, 1),
            events,
            RunTransition::Continue,
            number + writer + 1,
        )
        .await;
        let (ended, next) = finish(
            new.accepted(at),
            Outcome::Completed,
            at,
            JobResult::default(),
        );
        append(&pool, (id, 4), vec![ended], next, number + writer + 2).await;
        jobs.push(id.to_string());
    }
    jobs
}

async fn append(
    pool: &Pool,
    (job, base): (JobId, i64),
    events: Vec<EventData>,
    next: RunTransition,
    number: usize,
) {
    let lease = Lease { job, number: 0 };
    let append = Append {
        lease,
        base,
        events,
        next,
    };
    let mut transaction = pool.begin().await.unwrap();
    let appended = db::log::append_and_notify(&mut transaction, &[append]).await;
    let valid = appended.unwrap();
    assert_eq!(valid, [lease]);
    commit(transaction, number).await;
}

async fn commit(transaction: db::Transaction, number: usize) {
    if number.is_multiple_of(SLOW) {
        tokio::time::sleep(DELAY).await;
    }
    transaction.commit().await.unwrap();
}

fn line() -> EventData {
    EventData::Log(LogLine {
        level: LogLevel::Info,
        message: "no milestone".to_owned(),
    })
}

/// Reads all pages, with an unusual page size.
async fn pages(service: &Service) -> Vec<Value> {
    let (mut events, mut query) = (Vec::new(), "limit=37".to_owned());
    loop {
        let (status, page) = service.get(&format!("/v1/events?{query}")).await;
        assert_eq!(status, 200, "{page:#}");
        events.extend(page["data"].as_array().unwrap().iter().cloned());
        match page["next_cursor"].as_str() {
            Some(cursor) => query = format!("limit=37&cursor={cursor}"),
            None => return events,
        }
    }
}

#[tokio::test]
async fn an_open_transaction_holds_the_feed_up_and_is_named_by_a_metric() {
    let service = Service::without_worker().await;
    let (mut stream, _) = open(&service, "").await;
    let mut blocker = service.pool.begin().await.unwrap();
    sqlx::query("update queue set paused = paused")
        .execute(&mut *blocker)
        .await
        .unwrap();
    let job = service.create_shell("true").await;
    until_held_by(&service, "application=\"test\"").await;
    blocker.commit().await.unwrap();
    let event = stream.next().await.unwrap();
    assert_eq!(
        (event["job_id"].as_str(), event["type"].as_str()),
        (Some(&*job), Some("job.queued"))
    );
}

#[tokio::test]
async fn a_prepared_transaction_holds_the_feed_up_and_is_named_by_a_metric() {
    let service = Service::without_worker().await;
    let (mut stream, _) = open(&service, "").await;
    let mut blocker = service.pool.acquire().await.unwrap();
    let gid = format!("left behind {}", Uuid::new_v4());
    for statement in [
        "begin".to_owned(),
        "update queue set paused = paused".to_owned(),
        format!("prepare transaction '{gid}'"),
    ] {
        sqlx::query(AssertSqlSafe(statement))
            .execute(&mut blocker)
            .await
            .unwrap();
    }
    let job = service.create_shell("true").await;
    let holder = format!("application=\"prepared transaction {gid}\",pid=\"0\"");
    until_held_by(&service, &holder).await;
    sqlx::query(AssertSqlSafe(format!("rollback prepared '{gid}'")))
        .execute(&mut blocker)
        .await
        .unwrap();
    let event = stream.next().await.unwrap();
    assert_eq!(event["job_id"].as_str(), Some(&*job));
}

/// Waits until the metrics name the holder of the horizon. Until then the feed is empty.
async fn until_held_by(service: &Service, holder: &str) {
    crate::support::until(async || {
        let (_, page) = service.get("/v1/events").await;
        assert_eq!(page["data"], Value::Array(Vec::new()), "it is held up");
        let metrics = service.request(reqwest::Method::GET, "/metrics").send();
        let metrics = metrics.await.unwrap().text().await.unwrap();
        let figures: BTreeMap<_, _> = metrics
            .lines()
            .filter_map(|line| line.rsplit_once(' '))
            .collect();
        let seconds = figures.get("skillet_feed_horizon_seconds");
        seconds.is_some_and(|seconds| seconds.parse::<f64>().unwrap() > 1.0)
            && figures.keys().any(|name| {
                name.starts_with("skillet_feed_horizon_holder{") && name.contains(holder)
            })
    })
    .await;
}
