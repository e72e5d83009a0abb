//! The Rust client: the scenario of all clients, broken connections, files, and the programs of its README.

mod events;
mod example;
mod follow;
mod package;
mod proxy;
mod scenario;
mod submit;
mod transfer;
mod webhook;

use std::time::Duration;

use serde_json::Value;
use shared::event::Event;
use shared::id::JobId;
use skillet_client::{Client, Error, NewJob, Timing};

use crate::support::{Service, bash};

/// Creates a client of the service, or of a proxy in front of it, with short retry delays.
fn client_of(service: &Service, url: &str) -> Client {
    let timing = Timing {
        first_delay: Duration::from_millis(10),
        max_delay: Duration::from_millis(10),
        ..Timing::default()
    };
    let builder = Client::builder(url, &service.key).timing(timing);
    builder.build().unwrap()
}

fn shell(commands: &str) -> NewJob {
    NewJob::skill("shell", bash(commands)).model("script/bash")
}

/// Runs a job to its end, and returns its id and its log.
async fn ended_job(service: &Service) -> (JobId, Vec<Event>) {
    let client = client_of(service, &service.url);
    let job = client.run(shell("echo 'hello wörld 🥖'")).await.unwrap();
    let events = log(&client, job.id).await.unwrap();
    (job.id, events)
}

async fn log(client: &Client, job: JobId) -> Result<Vec<Event>, Error> {
    let mut following = client.follow(job);
    let mut events = Vec::new();
    while let Some(event) = following.next().await? {
        events.push(event);
    }
    Ok(events)
}

fn seqs(events: &[Event]) -> Vec<i64> {
    events.iter().map(|event| event.seq).collect()
}

/// Asserts that two lists have the same events with the same content.
fn assert_same(events: &[Event], expected: &[Event]) {
    let content = |events: &[Event]| {
        let events = events
            .iter()
            .map(|event| serde_json::to_value(event).unwrap());
        events.collect::<Vec<Value>>()
    };
    assert_eq!(content(events), content(expected));
}
