//! Filters of the feed.

use reqwest::Method;
use serde_json::{Value, json};

use super::{open, until_ends};
use crate::support::problem::Problem;
use crate::support::{Service, bash, parse, put_runner};

#[tokio::test]
async fn pages_and_streams_have_what_the_filter_lets_through() {
    let service = Service::start().await;
    put_runner(&service).await;
    let (mut all, cursor) = open(&service, "").await;
    let (status, conversation) = service
        .post("/v1/conversations", &json!({"agent": "runner"}))
        .await;
    assert_eq!(status, 201, "{conversation:#}");
    let conversation = conversation["id"].as_str().unwrap();
    let job = |more: Value| {
        let mut job = json!({"model": "script/bash", "prompt": bash("true")});
        job.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        job
    };
    let order = service
        .create(&job(
            json!({"skill": "shell", "metadata": {"order": 4711, "shop": "a"}}),
        ))
        .await;
    let runner = service.create(&job(json!({"agent": "runner"}))).await;
    let talk = service
        .create(&job(
            json!({"agent": "runner", "conversation_id": conversation}),
        ))
        .await;
    let whole: Vec<_> = until_ends(&mut all, 3).await;
    let whole: Vec<_> = whole.iter().map(|raw| parse(raw)).collect();

    let of = |jobs: &[&String], types: &[&str]| -> Vec<Value> {
        let is_wanted = |event: &&Value| {
            let has_job = jobs.iter().any(|job| event["job_id"] == ***job);
            has_job && (types.is_empty() || types.iter().any(|kind| event["type"] == *kind))
        };
        whole.iter().filter(is_wanted).cloned().collect()
    };
    for (query, expected) in [
        (
            "types=job.completed,job.failed",
            of(&[&order, &runner, &talk], &["job.completed"]),
        ),
        ("skill=shell", of(&[&order], &[])),
        (
            "agent=runner&types=job.queued",
            of(&[&runner, &talk], &["job.queued"]),
        ),
        (
            &format!("conversation_id={conversation}"),
            of(&[&talk], &[]),
        ),
        ("metadata.order=4711&metadata.shop=a", of(&[&order], &[])),
    ] {
        assert!(!expected.is_empty(), "{query}");
        let (status, page) = service.get(&format!("/v1/events?{query}")).await;
        assert_eq!(
            (status.as_u16(), page["data"].as_array()),
            (200, Some(&expected)),
            "{query}"
        );
        let (mut stream, _) = open(&service, &format!("?{query}&after={cursor}")).await;
        for event in &expected {
            assert_eq!(stream.next().await.as_ref(), Some(event), "{query}");
        }
    }
    let (_, none) = service.get("/v1/events?metadata.order=471").await;
    assert_eq!(none["data"], json!([]));
}

#[tokio::test]
async fn a_filter_that_cannot_be_is_refused() {
    let service = Service::without_worker().await;
    for (query, part) in [
        (
            "types=message.delta",
            "`message.delta` is not a type of these events; valid values: job.queued,",
        ),
        ("conversation_id=7", "`conversation_id`"),
        (
            "metadata.a=1&metadata.b=1&metadata.c=1&metadata.d=1",
            "at most 3",
        ),
        ("kind=x", "unknown field `kind`"),
    ] {
        for path in ["/v1/events", "/v1/events/stream"] {
            let problem =
                Problem::of(service.request(Method::GET, &format!("{path}?{query}"))).await;
            assert_eq!(problem.status, 400);
            assert!(problem.detail().contains(part), "{}", problem.detail());
        }
    }
    let problem = Problem::of(service.request(Method::GET, "/v1/events?limit=1001")).await;
    assert_eq!(problem.status, 400);
    let none = service.anonymous(Method::GET, "/v1/events/stream");
    assert_eq!(none.send().await.unwrap().status(), 401);
}
