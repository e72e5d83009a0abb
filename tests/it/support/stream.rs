use std::time::Duration;

use reqwest::{RequestBuilder, Response};
use serde_json::Value;
use tokio::time::timeout;

/// How long a stream may be silent in a test.
const PATIENCE: Duration = Duration::from_secs(30);

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
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let event = event.to_owned();
                self.rest = rest.to_owned();
                if event.starts_with(':') {
                    continue;
                }
                return Some(event);
            }
            let chunk = timeout(PATIENCE, self.response.chunk())
                .await
                .expect("the stream is silent");
            let chunk = chunk.ok().flatten()?;
            self.rest.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    /// The next event's data.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let raw = self.next_raw().await?;
        let data = raw
            .lines()
            .find_map(|line| line.strip_prefix("data: "))
            .unwrap();
        Some(serde_json::from_str(data).unwrap())
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
