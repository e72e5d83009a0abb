//! Event streams that reconnect.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde::de::Error as _;
use skillet_wire::sse::{SseDecoder, SseEvent};
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::connection::ServiceConnection;
use crate::error::Error;

const EVENT_STREAM: &str = "text/event-stream";

/// The events of one stream. Reconnects after a connection ends, and continues after the last accepted event.
pub(crate) struct ReconnectingStream {
    connection: ServiceConnection,
    path: String,
    pub(crate) query: Vec<(String, String)>,
    /// The id of the last accepted event.
    pub(crate) last_id: String,
    ready: VecDeque<SseEvent>,
    state: StreamState,
    /// The number of consecutive connections without an event.
    failures: u32,
}

/// A pending request for a stream. It returns `None` if the service has no more events.
type Opening = Pin<Box<dyn Future<Output = Result<Option<Response>, Error>> + Send>>;

/// The state of the connection. It includes pending futures, so [`ReconnectingStream::next`] is cancel safe.
enum StreamState {
    Pausing {
        until: Instant,
    },
    Opening {
        opening: Opening,
        since: Instant,
    },
    Open {
        response: Box<Response>,
        decoder: SseDecoder,
        /// The time at which the last data was received.
        heard_at: Instant,
    },
    Ended,
}

impl ReconnectingStream {
    pub(crate) fn new(connection: ServiceConnection, path: String) -> Self {
        Self {
            connection,
            path,
            query: Vec::new(),
            last_id: String::new(),
            ready: VecDeque::new(),
            state: StreamState::Pausing {
                until: Instant::now(),
            },
            failures: 0,
        }
    }

    /// Returns the next event, or `None` if the service has no more events. An event may be a duplicate. Returns an
    /// error if it is permanent or the retry limit is reached.
    pub(crate) async fn next(&mut self) -> Result<Option<SseEvent>, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            if matches!(self.state, StreamState::Ended) {
                return Ok(None);
            }
            if let Err(error) = self.step().await {
                self.pause(error)?;
            }
        }
    }

    /// Marks an event as received.
    pub(crate) fn accept(&mut self, id: String) {
        self.last_id = id;
        self.failures = 0;
    }

    /// Reconnects after an event that cannot be parsed, because it may have been damaged in transit.
    pub(crate) fn reject(&mut self, error: serde_json::Error) -> Result<(), Error> {
        self.ready.clear();
        self.pause(Error::Answer(error))
    }

    pub(crate) fn cut(&self) -> Error {
        Error::StreamCut(self.connection.url.clone())
    }

    async fn step(&mut self) -> Result<(), Error> {
        let silence = self.connection.timing.silence;
        match &mut self.state {
            StreamState::Pausing { until } => {
                sleep_until(*until).await;
                let request = self.connection.request(Method::GET, &self.path);
                let request = request.query(&self.query);
                let request = request.header("last-event-id", &self.last_id);
                let opening = Box::pin(open(self.connection.clone(), request));
                let since = Instant::now();
                self.state = StreamState::Opening { opening, since };
            }
            StreamState::Opening { opening, since } => {
                let opened = timeout_at(*since + silence, opening).await;
                self.state = match opened.map_err(|_| self.connection.timed_out(silence))?? {
                    None => StreamState::Ended,
                    Some(response) => StreamState::Open {
                        response: Box::new(response),
                        decoder: SseDecoder::default(),
                        heard_at: Instant::now(),
                    },
                };
            }
            StreamState::Open {
                response,
                decoder,
                heard_at,
            } => {
                let chunk = timeout_at(*heard_at + silence, response.chunk()).await;
                let chunk = chunk.map_err(|_| self.connection.timed_out(silence))?;
                let chunk = chunk.map_err(|cause| self.connection.lost(cause))?;
                let Some(chunk) = chunk else {
                    return Err(self.cut());
                };
                *heard_at = Instant::now();
                let events = decoder.decode(&chunk);
                let events = events.map_err(|it| Error::Answer(serde_json::Error::custom(it)))?;
                self.ready.extend(events);
            }
            StreamState::Ended => {}
        }
        Ok(())
    }

    /// Schedules a reconnection after a delay. Returns the error if it is permanent or the retry limit is reached.
    fn pause(&mut self, error: Error) -> Result<(), Error> {
        let timing = &self.connection.timing;
        self.failures += 1;
        let wanted = match &error {
            Error::Service(refusal) => refusal.retry_after,
            _ => None,
        };
        let pause: Duration = wanted.unwrap_or_else(|| timing.backoff(self.failures));
        self.state = StreamState::Pausing {
            until: Instant::now() + pause,
        };
        let may_change = error.is_transient() || matches!(error, Error::Answer(_));
        let is_last = timing
            .stream_attempts
            .is_some_and(|most| self.failures >= most);
        if may_change && !is_last {
            Ok(())
        } else {
            Err(error)
        }
    }
}

async fn open(
    connection: ServiceConnection,
    request: RequestBuilder,
) -> Result<Option<Response>, Error> {
    let request = request.header(ACCEPT, EVENT_STREAM).build();
    let response = connection.execute(request.map_err(Error::Setup)?).await?;
    if response.status() == StatusCode::NO_CONTENT {
        return Ok(None);
    }
    if !response.status().is_success() {
        return Err(connection.refused(response).await);
    }
    let Some(content_type) = response.headers().get(CONTENT_TYPE) else {
        // A response without a content type has an incomplete head.
        return Err(Error::StreamCut(connection.url));
    };
    let content_type = content_type.to_str().unwrap_or_default();
    if content_type.starts_with(EVENT_STREAM) {
        Ok(Some(response))
    } else {
        Err(Error::NotAnEventStream(content_type.to_owned()))
    }
}
