//! The feed of milestones: its pages, its stream, and its completeness.

mod cursor;
mod filter;
mod horizon;
mod tenants;

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Service, Stream, bash, parse, put_runner};

/// The event types in the feed.
const MILESTONES: [&str; 10] = [
    "job.queued",
    "job.started",
    "job.waiting",
    "approval.requested",
    "approval.resolved",
    "asset.created",
    "job.retrying",
    "job.completed",
    "job.failed",
    "job.cancelled",
];

/// Opens the tenant's stream and returns it with the cursor of its first event.
async fn open(service: &Service, query: &str) -> (Stream, String) {
    let path = format!("/v1/events/stream{query}");
    let mut stream = Stream::open(service.request(Method::GET, &path)).await;
    assert_eq!(stream.response.status(), 200);
    let first = stream.next_raw().await.expect("a cursor");
    assert!(first.contains("\nevent: cursor\n"), "{first}");
    let cursor = parse(&first)["cursor"].as_str().unwrap().to_owned();
    assert!(first.starts_with(&format!("id: {cursor}\n")), "{first}");
    (stream, cursor)
}

/// Returns the id of a raw event.
fn id(raw: &str) -> &str {
    let id = raw.lines().find_map(|line| line.strip_prefix("id: "));
    id.unwrap()
}

/// Reads the raw events until `count` jobs have ended.
async fn until_ends(stream: &mut Stream, count: usize) -> Vec<String> {
    let mut events = Vec::new();
    let mut ended = 0;
    while ended < count {
        let raw = stream.next_raw().await.expect("the stream goes on");
        let event = parse(&raw);
        if raw.contains("\nevent: cursor\n") {
            continue;
        }
        let status = event["status"].as_str().unwrap();
        let kind = event["type"].as_str().unwrap();
        ended += usize::from(
            kind == format!("job.{status}") && kind != "job.queued" && kind != "job.waiting",
        );
        events.push(raw);
    }
    events
}

/// Returns the sequence numbers and types of the milestones in the logs, by job.
async fn milestones(service: &Service, jobs: &[String]) -> BTreeMap<String, Vec<(i64, String)>> {
    let mut all = BTreeMap::new();
    for job in jobs {
        let events = service.events(job).await;
        all.insert(job.clone(), of_log(&events));
    }
    all
}

fn of_log(events: &[Value]) -> Vec<(i64, String)> {
    let events = events.iter().map(|event| {
        let kind = event["type"].as_str().unwrap().to_owned();
        (event["seq"].as_i64().unwrap(), kind)
    });
    events
        .filter(|(_, kind)| MILESTONES.contains(&kind.as_str()))
        .collect()
}

/// Returns the sequence numbers and types of feed events in order of arrival, by job.
fn by_job<'a>(events: impl IntoIterator<Item = &'a Value>) -> BTreeMap<String, Vec<(i64, String)>> {
    let mut all: BTreeMap<String, Vec<(i64, String)>> = BTreeMap::new();
    for event in events {
        let job = event["job_id"].as_str().unwrap().to_owned();
        let kind = event["type"].as_str().unwrap().to_owned();
        let seq = event["seq"].as_i64().unwrap();
        all.entry(job).or_default().push((seq, kind));
    }
    all
}

#[tokio::test]
async fn the_stream_has_the_milestones_of_all_jobs_once_each_over_any_api_and_any_cut() {
    let mut service = Service::start().await;
    put_runner(&service).await;
    let (mut stream, _) = open(&service, "").await;
    let jobs = create_jobs(&service).await;
    service.approve(&jobs[2]).await;
    let whole = until_ends(&mut stream, jobs.len()).await;
    let data: Vec<_> = whole.iter().map(|raw| parse(raw)).collect();
    assert_eq!(by_job(&data), milestones(&service, &jobs).await);

    let (_second, second_url) = service.start_second_api(&[]);
    let first_url = std::mem::replace(&mut service.url, second_url);
    for url in [service.url.clone(), first_url] {
        service.url = url;
        for cut in 0..whole.len() - 1 {
            let request = service.request(Method::GET, "/v1/events/stream");
            let mut stream = Stream::open(request.header("Last-Event-ID", id(&whole[cut]))).await;
            let first = stream.next_raw().await.expect("a cursor");
            assert_eq!(id(&first), id(&whole[cut]));
            for event in &whole[cut + 1..] {
                assert_eq!(stream.next_raw().await.as_ref(), Some(event), "after {cut}");
            }
        }
    }
    let (status, page) = service.get("/v1/events?limit=1000").await;
    assert_eq!(status, 200);
    let page = page["data"].as_array().unwrap();
    assert_eq!(*page, data, "pages have the same objects");
}

/// Creates jobs with each kind of ending. The third one waits for an approval.
async fn create_jobs(service: &Service) -> Vec<String> {
    let made = service.create_shell("echo 1 > a.txt").await;
    let cancelled = json!({"skill": "shell", "model": "script/bash", "prompt": bash("sleep 100")});
    let cancelled = service.create(&cancelled).await;
    service.until_event(&cancelled, "tool.started").await;
    let cancel = format!("/v1/jobs/{cancelled}/cancel");
    assert!(service.post(&cancel, &Value::Null).await.0.is_success());
    let asks = json!({
        "agent": "runner",
        "model": "script/bash",
        "prompt": bash("true"),
        "hooks": {"confirm": ["shell.exec"]},
    });
    let asks = service.create(&asks).await;
    let failed = json!({"skill": "shell", "model": "script/bash", "prompt": "no commands"});
    vec![made, cancelled, asks, service.create(&failed).await]
}
