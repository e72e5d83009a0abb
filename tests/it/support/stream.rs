//! Readers of event streams.

use std::time::Duration;

use reqwest::{RequestBuilder, Response, StatusCode};
use serde_json::Value;
use tokio::time::timeout;

use super::TIMEOUT;

/// A job's log as received by a client: the bytes of each event.
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

    /// Returns the next event as received, or `None` when the stream ends in any way.
    pub(crate) async fn next_raw(&mut self) -> Option<String> {
        let next = timeout(TIMEOUT, self.receive_event());
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

    /// Returns the data of the next event.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let raw = self.next_raw().await?;
        Some(parse(&raw))
    }

    /// Returns all remaining events as received.
    pub(crate) async fn rest_raw(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        while let Some(event) = self.next_raw().await {
            events.push(event);
        }
        events
    }
}

/// Returns the data of an event as received.
pub(crate) fn parse(raw: &str) -> Value {
    let data = raw.lines().find_map(|line| line.strip_prefix("data: "));
    serde_json::from_str(data.unwrap()).unwrap()
}

/// Follows a job to its end, as a browser does: when the stream is cut, it requests the events after the last id.
/// `request` is the request for the stream.
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
    timeout(2 * TIMEOUT, follow)
        .await
        .expect("the job does not end");
    events
}

fn id(raw: &str) -> i64 {
    let id = raw.lines().find_map(|line| line.strip_prefix("id: "));
    id.unwrap().parse().unwrap()
}
