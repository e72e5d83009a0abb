//! Retention of live output.

use reqwest::Method;
use serde_json::{Value, json};
use shared::event::is_delta;
use shared::id::JobId;

use super::forget;
use crate::support::log::assert_whole;
use crate::support::{Service, Stream, bash, parse};

/// Runs a job with two commands that each have live output of both kinds.
async fn run(service: &Service) -> String {
    let command = bash("echo out; sleep 0.1; echo err >&2; sleep 0.1; echo out");
    let prompt = format!("{command}\n{command}");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    let job = service.create(&job).await;
    service.finished(&job).await;
    job
}

/// Creates the partition of a past day.
async fn make_day(service: &Service, days_ago: i32) {
    let day = sqlx::query("select ensure_delta_day($1)").bind(-days_ago);
    day.execute(&service.pool).await.unwrap();
}

/// Makes all live output this many days older.
async fn age(service: &Service, days: i32) {
    let past = sqlx::query("update job_delta set at = at - $1 * interval '1 day'").bind(days);
    past.execute(&service.pool).await.unwrap();
}

async fn count(service: &Service, job: &str) -> i64 {
    let count = "select count(*) from job_delta where job_id = $1";
    let count = sqlx::query_scalar(count).bind(job.parse::<JobId>().unwrap());
    count.fetch_one(&service.pool).await.unwrap()
}

async fn replay(service: &Service, job: &str, query: &str) -> Vec<String> {
    let path = format!("/v1/jobs/{job}/stream{query}");
    let mut stream = Stream::open(service.request(Method::GET, &path)).await;
    stream.rest_raw().await
}

/// Returns the log with a `log.trimmed` event in place of each sequence of live output.
fn trimmed(whole: &[Value]) -> Vec<Value> {
    let mut expected: Vec<Value> = Vec::new();
    let mut from = None;
    for event in whole {
        let seq = event["seq"].as_i64().unwrap();
        if is_delta(event["type"].as_str().unwrap()) {
            from.get_or_insert(seq);
            continue;
        }
        if let Some(from) = from.take() {
            let (at, attempt) = (&event["at"], &event["attempt"]);
            let data = json!({"from": from, "to": seq - 1});
            expected.push(json!({"seq": seq - 1, "type": "log.trimmed", "at": at, "attempt": attempt, "data": data}));
        }
        expected.push(event.clone());
    }
    expected
}

#[tokio::test]
async fn after_its_time_live_output_is_one_entry_that_says_so_and_all_else_is_the_same() {
    let mut service = Service::start().await;
    let job = run(&service).await;
    assert_whole(&service.events(&job).await);
    let durable = replay(&service, &job, "?deltas=false").await;
    assert!(
        count(&service, &job).await >= 4,
        "each command has output of two kinds"
    );

    // Live output is kept while its day is within the retention period.
    make_day(&service, 1).await;
    age(&service, 1).await;
    let (whole, raw) = (service.events(&job).await, replay(&service, &job, "").await);
    forget(&mut service, &[]).await;
    assert_eq!(replay(&service, &job, "").await, raw);

    make_day(&service, 3).await;
    age(&service, 2).await;
    forget(&mut service, &[]).await;
    assert_eq!(count(&service, &job).await, 0);
    let left = service.events(&job).await;
    let expected = trimmed(&whole);
    assert_eq!(left, expected);
    assert!(left.len() < whole.len());
    let streamed = replay(&service, &job, "").await;
    let parsed: Vec<_> = streamed.iter().map(|raw| parse(raw)).collect();
    assert_eq!(parsed, expected);
    assert_eq!(replay(&service, &job, "?deltas=false").await, durable);

    // Replay works from any position, including one inside the deleted range.
    for after in 0..whole.len() as i64 {
        let rest = replay(&service, &job, &format!("?after={after}")).await;
        let page = format!("/v1/jobs/{job}/events?after={after}&limit=1000");
        let (_, page) = service.get(&page).await;
        let rest: Vec<_> = rest.iter().map(|raw| parse(raw)).collect();
        assert_eq!(page["data"], json!(rest), "after {after}");
        let mut expected: Vec<_> = expected.clone();
        expected.retain(|event| event["seq"].as_i64().unwrap() > after);
        if let Some(first) = expected.first_mut()
            && first["type"] == "log.trimmed"
        {
            let from = first["data"]["from"].as_i64().unwrap();
            first["data"]["from"] = json!(from.max(after + 1));
        }
        assert_eq!(rest, expected, "after {after}");
    }
    // Reading page by page returns the same events.
    let (mut paged, mut query) = (Vec::new(), "limit=2".to_owned());
    loop {
        let (_, page) = service.get(&format!("/v1/jobs/{job}/events?{query}")).await;
        let events = page["data"].as_array().unwrap();
        assert!(events.len() <= 2, "{page:#}");
        paged.extend(events.iter().cloned());
        let Some(cursor) = page["next_cursor"].as_str() else {
            break;
        };
        query = format!("limit=2&cursor={cursor}");
    }
    assert_eq!(paged, left);
    // A page that is filtered by type contains no `log.trimmed` events.
    let some = format!("/v1/jobs/{job}/events?types=message.completed,tool.output,log.trimmed");
    let (_, some) = service.get(&some).await;
    let some = some["data"].as_array().unwrap().iter();
    assert!(
        some.clone().count() > 0
            && some
                .clone()
                .all(|event| event["type"] == "message.completed")
    );
}

#[tokio::test]
async fn live_output_of_a_day_without_a_partition_goes_too_and_another_retention_keeps_it() {
    let mut service = Service::start().await;
    let job = run(&service).await;
    age(&service, 5).await;
    let whole = service.events(&job).await;
    // Other workers would run the maintenance with their own settings.
    service.workers.clear();
    forget(&mut service, &[("SKILLET_DELTA_RETENTION", "10d")]).await;
    assert_eq!(service.events(&job).await, whole);
    service.workers.clear();
    forget(&mut service, &[]).await;
    assert_eq!(count(&service, &job).await, 0);
    assert_eq!(service.events(&job).await, trimmed(&whole));
}

#[tokio::test]
async fn a_job_that_is_deleted_takes_its_live_output_along() {
    let service = Service::start().await;
    let job = run(&service).await;
    assert!(count(&service, &job).await > 0);
    let delete = service.request(Method::DELETE, &format!("/v1/jobs/{job}"));
    assert!(delete.send().await.unwrap().status().is_success());
    assert_eq!(count(&service, &job).await, 0);
}
