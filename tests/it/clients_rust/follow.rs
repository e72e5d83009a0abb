//! The event stream of a job over broken connections.

use std::time::Duration;

use futures_util::TryStreamExt;
use reqwest::Method;
use skillet_client::{Client, Error, Timing};
use tokio::time::timeout;

use super::proxy::{Fault, Proxy, Stop};
use super::{assert_same, client_of, ended_job, log, seqs, shell};
use crate::support::Service;

/// The distance in bytes between the places where the stream is cut. A step of one would take minutes.
const STEP: usize = 5;
const PROBLEM: &str = r#"{"type":"/docs/errors/test","title":"Test","status":401,"code":"test","detail":"a test","request_id":null,"retryable":true}"#;

/// Creates a client with a short silence timeout.
fn impatient(service: &Service, url: &str) -> Client {
    let timing = Timing {
        silence: Duration::from_millis(500),
        first_delay: Duration::from_millis(10),
        ..Timing::default()
    };
    let builder = Client::builder(url, &service.key).timing(timing);
    builder.build().unwrap()
}

#[tokio::test]
async fn following_begins_and_ends_where_it_should() {
    let service = Service::start().await;
    let client = client_of(&service, &service.url);
    let (job, events) = ended_job(&service).await;
    assert_eq!(seqs(&events), Vec::from_iter(1..=events.len() as i64));
    assert_eq!(events.last().unwrap().kind, "job.completed");
    let rest: Vec<_> = client
        .follow(job)
        .after(3)
        .into_stream()
        .try_collect()
        .await
        .unwrap();
    assert_same(&rest, &events[3..]);
    let last = events.last().unwrap().seq;
    assert!(
        client
            .follow(job)
            .after(last)
            .next()
            .await
            .unwrap()
            .is_none()
    );
    let quiet = client.follow(job).without_deltas().into_stream();
    let quiet: Vec<_> = quiet.try_collect().await.unwrap();
    assert!(events.iter().any(|event| event.kind == "tool.output"));
    assert!(quiet.iter().all(|event| event.kind != "tool.output"));
}

#[tokio::test]
async fn a_stream_may_end_anywhere() {
    let service = Service::start().await;
    let (job, events) = ended_job(&service).await;
    let path = format!("/v1/jobs/{job}/stream");
    let whole = service.request(Method::GET, &path).send().await.unwrap();
    let size = whole.bytes().await.unwrap().len();
    let stops = [Stop::Clean, Stop::Truncated, Stop::Reset];
    let places = (0..size).step_by(STEP).zip(stops.into_iter().cycle());
    let faults = places.map(|(after, stop)| Fault::Cut(after, stop));
    let proxy = Proxy::start(&service, "/stream", faults).await;
    let client = client_of(&service, &proxy.url);
    while proxy.left() > 0 {
        assert_same(&log(&client, job).await.unwrap(), &events);
    }
    assert!(proxy.received().len() >= size / STEP);
    assert!(size / STEP > 200, "the stream has {size} bytes");
}

#[tokio::test]
async fn a_cut_stream_is_taken_up_again() {
    let service = Service::start().await;
    for stop in [Stop::Clean, Stop::Truncated, Stop::Reset, Stop::Silent] {
        let faults = [Fault::Cut(0, stop), Fault::Cut(700, stop)];
        let proxy = Proxy::start(&service, "/stream", faults).await;
        let client = impatient(&service, &proxy.url);
        let job = client.submit(shell("sleep 1; echo hello")).await.unwrap();
        let events = log(&client, job.id).await.unwrap();
        assert_eq!(seqs(&events), Vec::from_iter(1..=events.len() as i64));
        assert_eq!(events.last().unwrap().kind, "job.completed");
        let received = proxy.received();
        let places = received
            .iter()
            .map(|it| it.headers["last-event-id"].parse());
        let places: Vec<i64> = places.collect::<Result<_, _>>().unwrap();
        assert_eq!(places[..2], [0, 0], "{stop:?}");
        assert!(places[2] > 0 && places.is_sorted(), "{stop:?}: {places:?}");
    }
}

#[tokio::test]
async fn following_ends_at_the_terminal_event_and_not_with_the_connection() {
    let service = Service::start().await;
    let (job, events) = ended_job(&service).await;
    let faults = [Fault::Cut(usize::MAX >> 1, Stop::Silent)];
    let proxy = Proxy::start(&service, "/stream", faults).await;
    let client = client_of(&service, &proxy.url);
    assert_same(&log(&client, job).await.unwrap(), &events);
    assert_eq!(proxy.received().len(), 1);
}

#[tokio::test]
async fn a_refusal_ends_following() {
    let service = Service::start().await;
    let (job, _) = ended_job(&service).await;
    for status in ["401 Unauthorized", "403 Forbidden", "404 Not Found"] {
        let faults = [
            Fault::Cut(700, Stop::Clean),
            Fault::Answer(
                status,
                "Content-Type: application/problem+json\r\n",
                PROBLEM,
            ),
        ];
        let proxy = Proxy::start(&service, "/stream", faults).await;
        let refused = log(&client_of(&service, &proxy.url), job).await;
        let Err(Error::Service(refusal)) = refused else {
            panic!("{status}: {refused:?}");
        };
        assert!(status.starts_with(&refusal.status.to_string()));
        assert_eq!(refusal.code(), Some("test"));
        assert_eq!(proxy.received().len(), 2);
    }
    let page = Fault::Answer("200 OK", "Content-Type: text/html\r\n", "<h1>Welcome</h1>");
    let proxy = Proxy::start(&service, "/stream", [page]).await;
    let refused = log(&client_of(&service, &proxy.url), job).await;
    assert!(matches!(refused, Err(Error::NotAnEventStream(it)) if it == "text/html"));
    assert_eq!(proxy.received().len(), 1);
}

#[tokio::test]
async fn retry_after_is_honoured() {
    let service = Service::start().await;
    let (job, events) = ended_job(&service).await;
    let faults = [
        Fault::Answer("429 Too Many Requests", "Retry-After: 2\r\n", ""),
        Fault::Answer("503 Service Unavailable", "", "<h1>busy</h1>"),
        Fault::Answer("200 OK", "", ""),
    ];
    let proxy = Proxy::start(&service, "/stream", faults).await;
    assert_same(
        &log(&client_of(&service, &proxy.url), job).await.unwrap(),
        &events,
    );
    let received = proxy.received();
    assert_eq!(received.len(), 4);
    assert!(received[1].at - received[0].at >= Duration::from_secs(2));
}

#[tokio::test]
async fn a_stream_that_never_comes_is_given_up_if_there_is_a_bound() {
    let service = Service::without_worker().await;
    let busy = || Fault::Answer("503 Service Unavailable", "", "");
    let proxy = Proxy::start(&service, "/stream", [busy(), busy(), busy()]).await;
    let timing = Timing {
        first_delay: Duration::from_millis(10),
        stream_attempts: Some(3),
        ..Timing::default()
    };
    let client = Client::builder(&proxy.url, &service.key).timing(timing);
    let client = client.build().unwrap();
    let job = client.submit(shell("true")).await.unwrap();
    let given_up = log(&client, job.id).await;
    assert!(matches!(given_up, Err(Error::Service(it)) if it.status == 503));
    assert_eq!(proxy.received().len(), 3);
}

#[tokio::test]
async fn what_is_no_event_counts_as_a_lost_connection_and_an_unknown_type_is_passed_on() {
    let service = Service::start().await;
    let (job, events) = ended_job(&service).await;
    for (from, to) in [("\"seq\"", "'seq'"), ("\"seq\"", "\"req\"")] {
        let proxy = Proxy::start(&service, "/stream", [Fault::Replace(from, to)]).await;
        assert_same(
            &log(&client_of(&service, &proxy.url), job).await.unwrap(),
            &events,
        );
        assert_eq!(proxy.received().len(), 2);
    }
    let newer = Fault::Replace("message.completed", "message.evaluated");
    let proxy = Proxy::start(&service, "/stream", [newer]).await;
    let events = log(&client_of(&service, &proxy.url), job).await.unwrap();
    let unknown = events.iter().find(|it| it.kind == "message.evaluated");
    let unknown = unknown.expect("the event is passed on");
    assert!(unknown.parse().is_err() && unknown.data.get().contains("content"));
    assert_eq!(seqs(&events), Vec::from_iter(1..=events.len() as i64));
    assert_eq!(proxy.received().len(), 1);
}

#[tokio::test]
async fn a_wait_that_is_dropped_loses_no_event() {
    let service = Service::start().await;
    let client = client_of(&service, &service.url);
    let job = client.submit(shell("for i in 1 2 3; do echo $i; sleep 0.2; done"));
    let job = job.await.unwrap();
    let mut following = client.follow(job.id);
    let mut events = Vec::new();
    loop {
        match timeout(Duration::from_micros(300), following.next()).await {
            Err(_) => {}
            Ok(event) => match event.unwrap() {
                Some(event) => events.push(event),
                None => break,
            },
        }
    }
    assert_same(&events, &log(&client, job.id).await.unwrap());
}
