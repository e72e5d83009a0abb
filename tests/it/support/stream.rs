//! Readers of event streams.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use super::PATIENCE;

/// A job's log as a client receives it: the bytes of each event.
pub(crate) struct Stream {
    pub(crate) response: Response,
    rest: String,
}

impl Stream {
    pub(crate) async fn open(request: RequestBuilder) -> Self {
        Self {
            response: request.send().await.unwrap(),
            rest: String::new(),
        }
    }

    /// The next event as it stands on the wire; `None` when the stream ends, in whatever way.
    pub(crate) async fn next_raw(&mut self) -> Option<String> {
        let next = timeout(PATIENCE, self.receive_event());
        next.await.expect("the stream has no more events")
    }

    async fn receive_event(&mut self) -> Option<String> {
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let event = event.to_owned();
                self.rest = rest.to_owned();
                if event.starts_with(':') {
                    continue;
                }
                return Some(event);
            }
            let chunk = self.response.chunk().await.ok().flatten()?;
            self.rest.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next event's data.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let raw = self.next_raw().await?;
        Some(parse(&raw))
    }

    /// All that still comes.
    pub(crate) async fn rest_raw(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        while let Some(event) = self.next_raw().await {
            events.push(event);
        }
        events
    }
}

/// The data of an event as it stands on the wire.
pub(crate) fn parse(raw: &str) -> Value {
    let data = raw.lines().find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.unwrap()).unwrap()
}

/// Follows a job to its end as a browser does: what cuts the stream is survived by asking for what comes after
/// the last id. `request` is that for the stream.
pub(crate) async fn follow_through(request: RequestBuilder) -> Vec<String> {
    let mut events: Vec<String> = Vec::new();
    let follow = async {
        loop {
            let last = events.last().map_or(0, |event| id(event));
            let again = request.try_clone().unwrap().header("Last-Event-ID", last);
            if let Ok(response) = again.send().await {
                match response.status() {
                    StatusCode::NO_CONTENT => return,
                    StatusCode::OK => {
                        let rest = String::new();
                        events.extend(Stream { response, rest }.rest_raw().await);
                    }
                    _ => {}
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(2 * PATIENCE, follow)
        .await
        .expect("the job does not end");
    events
}

fn id(raw: &str) -> i64 {
    let id = raw.lines().find_map(|line| line.strip_prefix("id: "));
    id.unwrap().parse().unwrap()
}
