//! An event stream that reconnects.

use std::collections::VecDeque;
use std::time::Duration;

use reqwest::{Method, Response, StatusCode};
use shared::event::{Event, is_terminal};
use shared::id::JobId;
use shared::sse::SseDecoder;
use tokio::time::{sleep, timeout};

use super::Client;

/// A stream that is silent for longer than this lost its other end; comments come every 15 s.
const SILENCE: Duration = Duration::from_secs(45);
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);
/// Connections in a row that may fail before we give up.
const MAX_FAILURES: u32 = 60;

/// A job's log as it grows. A lost connection is taken up where it was.
pub(crate) struct Following {
    client: Client,
    job: JobId,
    last_seq: i64,
    ready: VecDeque<Event>,
    open: Option<(Response, SseDecoder)>,
    failures: u32,
    has_ended: bool,
}

impl Following {
    pub(super) fn new(client: Client, job: JobId) -> Self {
        Self {
            client,
            job,
            last_seq: 0,
            ready: VecDeque::new(),
            open: None,
            failures: 0,
            has_ended: false,
        }
    }

    /// The next event; `None` after the last.
    pub(crate) async fn next(&mut self) -> anyhow::Result<Option<Event>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.last_seq = event.seq;
                self.has_ended = is_terminal(&event.kind);
                return Ok(Some(event));
            }
            if self.has_ended {
                return Ok(None);
            }
            let Err(error) = self.read().await else {
                self.failures = 0;
                continue;
            };
            self.open = None;
            self.failures += 1;
            if self.failures >= MAX_FAILURES {
                return Err(error);
            }
            sleep(RECONNECT_PAUSE).await;
        }
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        let Some((response, decoder)) = &mut self.open else {
            return self.connect().await;
        };
        let chunk = timeout(SILENCE, response.chunk()).await??;
        let Some(chunk) = chunk else {
            anyhow::bail!("the stream was cut")
        };
        for event in decoder.decode(&chunk)? {
            self.ready.push_back(serde_json::from_str(&event.data)?);
        }
        Ok(())
    }

    async fn connect(&mut self) -> anyhow::Result<()> {
        let request = self
            .client
            .request(Method::GET, &format!("/v1/jobs/{}/stream", self.job));
        let response = self
            .client
            .send(request.header("Last-Event-ID", self.last_seq))
            .await?;
        if response.status() == StatusCode::NO_CONTENT {
            self.has_ended = true;
        } else {
            self.open = Some((response, SseDecoder::default()));
        }
        Ok(())
    }
}
