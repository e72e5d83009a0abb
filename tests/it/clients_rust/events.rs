//! The event stream of a tenant over broken connections.

use std::time::Duration;

use futures_util::TryStreamExt;
use reqwest::Method;
use serde_json::Value;
use shared::feed::FeedEvent;
use skillet_client::{Client, Error, TenantEvent, TenantEvents, Timing};
use tokio::time::timeout;

use super::proxy::{Fault, Proxy, Stop};
use super::{client_of, shell};
use crate::support::{Service, Stream, TIMEOUT, until};

/// The distance in bytes between the places where the stream is cut. A step of one would take minutes.
const STEP: usize = 7;

/// The milestones of two jobs, and the cursor before them.
struct Recorded {
    start: String,
    events: Vec<FeedEvent>,
}

impl Recorded {
    async fn of(service: &Service) -> Self {
        let client = client_of(service, &service.url);
        let begun = client.events().next().await.unwrap();
        assert_eq!(begun.event, None);
        for commands in ["true", "echo 'wörld 🥖'"] {
            client.run(shell(commands)).await.unwrap();
        }
        let start = begun.cursor;
        let query = [("after", start.clone())];
        let of_a_job = ["job.queued", "job.started", "job.completed"];
        let mut events: Vec<FeedEvent> = Vec::new();
        // A milestone is visible once no older transaction is open.
        until(async || {
            events = client.list("/v1/events", &query, None).await.unwrap();
            events.len() == 2 * of_a_job.len()
        })
        .await;
        assert_eq!(kinds(&events), [of_a_job, of_a_job].concat());
        Self { start, events }
    }

    /// Returns the size of the stream in bytes.
    async fn size(&self, service: &Service) -> usize {
        let path = format!("/v1/events/stream?after={}", self.start);
        let mut stream = Stream::open(service.request(Method::GET, &path)).await;
        let mut size = 0;
        for _ in 0..=self.events.len() {
            // Each event ends with a blank line.
            size += stream.next_raw().await.unwrap().len() + 2;
        }
        size
    }

    fn stream(&self, client: &Client) -> TenantEvents {
        client.events().after(&self.start)
    }
}

fn kinds(events: &[FeedEvent]) -> Vec<&str> {
    events.iter().map(|event| event.kind.as_str()).collect()
}

/// Reads `count` milestones. No cursor repeats.
async fn take(events: &mut TenantEvents, count: usize) -> Result<Vec<FeedEvent>, Error> {
    let mut taken = Vec::new();
    let mut cursors = Vec::new();
    while taken.len() < count {
        let next = timeout(TIMEOUT, events.next()).await;
        let TenantEvent { cursor, event } = next.expect("the stream goes on")?;
        assert!(!cursors.contains(&cursor), "{cursor} came twice");
        cursors.push(cursor);
        taken.extend(event);
    }
    Ok(taken)
}

#[tokio::test]
async fn the_stream_may_end_anywhere() {
    let service = Service::start().await;
    let recorded = Recorded::of(&service).await;
    let size = recorded.size(&service).await;
    let stops = [Stop::Clean, Stop::Truncated, Stop::Reset];
    let places = (0..size).step_by(STEP).zip(stops.into_iter().cycle());
    let faults = places.map(|(after, stop)| Fault::Cut(after, stop));
    let proxy = Proxy::start(&service, "/stream", faults).await;
    let client = client_of(&service, &proxy.url);
    while proxy.left() > 0 {
        let mut events = recorded.stream(&client);
        let taken = take(&mut events, recorded.events.len()).await.unwrap();
        assert_eq!(taken, recorded.events);
    }
    assert!(proxy.received().len() > 200, "the stream has {size} bytes");
}

#[tokio::test]
async fn a_cut_stream_is_taken_up_again_and_begins_now() {
    let service = Service::start().await;
    Recorded::of(&service).await;
    for stop in [Stop::Clean, Stop::Truncated, Stop::Reset, Stop::Silent] {
        let faults = [
            Fault::Cut(0, stop),
            Fault::Cut(300, stop),
            Fault::Cut(500, stop),
        ];
        let proxy = Proxy::start(&service, "/stream", faults).await;
        let timing = Timing {
            silence: Duration::from_millis(500),
            first_delay: Duration::from_millis(10),
            ..Timing::default()
        };
        let client = Client::builder(&proxy.url, &service.key).timing(timing);
        let client = client.build().unwrap();
        let mut events = client.events();
        let begun = events.next().await.unwrap();
        assert_eq!(begun.event, None, "{stop:?}");
        let job = client.submit(shell("true")).await.unwrap();
        let taken = take(&mut events, 3).await.unwrap();
        assert_eq!(
            kinds(&taken),
            ["job.queued", "job.started", "job.completed"]
        );
        assert!(taken.iter().all(|event| event.job_id == job.id));
        let received = proxy.received();
        let ids = received.iter().map(|it| it.headers.get("last-event-id"));
        let ids: Vec<&str> = ids.map(|id| id.map_or("", String::as_str)).collect();
        assert_eq!(ids[..2], ["", ""], "{stop:?}");
        assert_eq!(ids[2], begun.cursor, "{stop:?}");
        assert!(ids.len() > 3, "{stop:?}");
    }
}

#[tokio::test]
async fn filters_are_combined_and_a_cursor_continues() {
    let service = Service::start().await;
    let recorded = Recorded::of(&service).await;
    let client = client_of(&service, &service.url);
    let mut job = shell("true");
    job.metadata.insert("order".to_owned(), 7.into());
    let job = client.run(job).await.unwrap();
    let filtered = recorded
        .stream(&client)
        .skill("shell")
        .metadata("order", "7");
    let mut filtered = filtered.types(["job.queued", "job.completed"]);
    let taken = take(&mut filtered, 2).await.unwrap();
    assert_eq!(kinds(&taken), ["job.queued", "job.completed"]);
    assert!(taken.iter().all(|event| event.job_id == job.id));

    let mut events = recorded.stream(&client);
    let second = loop {
        let event = events.next().await.unwrap();
        if event.event.as_ref() == Some(&recorded.events[1]) {
            break event.cursor;
        }
    };
    let mut rest = client.events().after(second);
    let taken = take(&mut rest, recorded.events.len() - 2).await.unwrap();
    assert_eq!(taken, recorded.events[2..]);
}

#[tokio::test]
async fn a_refusal_ends_the_stream() {
    let service = Service::without_worker().await;
    for status in [
        "401 Unauthorized",
        "403 Forbidden",
        "404 Not Found",
        "410 Gone",
    ] {
        let faults = [Fault::Cut(0, Stop::Clean), Fault::Answer(status, "", "")];
        let proxy = Proxy::start(&service, "/stream", faults).await;
        let refused = client_of(&service, &proxy.url).events().next().await;
        let Err(Error::Service(refusal)) = refused else {
            panic!("{status}: {refused:?}");
        };
        assert!(status.starts_with(&refusal.status.to_string()));
        assert_eq!(proxy.received().len(), 2);
    }
    let client = client_of(&service, &service.url);
    let unknown = client.events().types(["tool.output"]).into_stream();
    let refused: Result<Vec<_>, _> = unknown.try_collect().await;
    assert!(matches!(refused, Err(Error::Service(it)) if it.status == 400));
    let page = Fault::Answer("200 OK", "Content-Type: text/html\r\n", "<h1>Welcome</h1>");
    let proxy = Proxy::start(&service, "/stream", [page]).await;
    let mut events = client_of(&service, &proxy.url).events();
    let refused = events.next().await;
    assert!(matches!(refused, Err(Error::NotAnEventStream(it)) if it == "text/html"));
    // The program can continue after the error.
    assert_eq!(events.next().await.unwrap().event, None);
}

#[tokio::test]
async fn a_cursor_of_before_a_restore_is_expired() {
    let service = Service::without_worker().await;
    let client = client_of(&service, &service.url);
    let cursor = client.events().next().await.unwrap().cursor;
    sqlx::query("update feed_state set epoch = epoch + 1")
        .execute(&service.pool)
        .await
        .unwrap();
    let refused = client.events().after(cursor).next().await;
    let Err(Error::Service(refusal)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (refusal.status, refusal.code()),
        (410, Some("cursor_expired"))
    );
}

#[tokio::test]
async fn what_is_no_event_counts_as_a_lost_connection_and_an_unknown_type_is_passed_on() {
    let service = Service::start().await;
    let recorded = Recorded::of(&service).await;
    let body: String = recorded
        .events
        .iter()
        .zip(1..)
        .fold(String::new(), |body, (event, id)| {
            let data = serde_json::to_string(event).unwrap();
            body + &format!("id: {id}\nevent: {}\ndata: {data}\n\n", event.kind)
        });
    let newer: &'static str = body.replace("job.started", "job.paused").leak();
    for (body, connections) in [
        (newer, 1),
        ("id: 1\nevent: job.queued\ndata: {'seq'\n\n", 2),
        ("id: 1\nevent: job.queued\ndata: {}\n\n", 2),
    ] {
        let answer = Fault::Answer("200 OK", "Content-Type: text/event-stream\r\n", body);
        let proxy = Proxy::start(&service, "/stream", [answer]).await;
        let mut events = recorded.stream(&client_of(&service, &proxy.url));
        let taken = take(&mut events, recorded.events.len()).await.unwrap();
        let passed: Vec<Value> = taken
            .iter()
            .map(|it| serde_json::to_value(it).unwrap())
            .collect();
        let text = serde_json::to_string(&recorded.events).unwrap();
        let text = match connections {
            1 => text.replace("job.started", "job.paused"),
            _ => text,
        };
        assert_eq!(passed, serde_json::from_str::<Vec<Value>>(&text).unwrap());
        assert_eq!(proxy.received().len(), connections);
    }
}

#[tokio::test]
async fn a_wait_that_is_dropped_loses_no_milestone() {
    let service = Service::start().await;
    let recorded = Recorded::of(&service).await;
    let mut events = recorded.stream(&client_of(&service, &service.url));
    let mut taken = Vec::new();
    while taken.len() < recorded.events.len() {
        if let Ok(event) = timeout(Duration::from_micros(300), events.next()).await {
            taken.extend(event.unwrap().event);
        }
    }
    assert_eq!(taken, recorded.events);
}
