//! One call over HTTP: a request goes out, Server-Sent Events come back.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{RequestBuilder, Response};
use shared::sse::{SseDecoder, SseEvent};
use tokio::time::timeout;

use crate::model::{ModelError, failure};

/// How long a provider may take for its status line: local servers load the model and read the
/// whole prompt first. Then the call counts as broken.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// How long we wait for the rest of an error's text; without it, the status has to do.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The most of an error's text that is read; the rest is dropped with the connection.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// The most bytes of one reply; a provider that sends more has lost its way.
const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;

/// The events of an answer; an error is the last item.
pub(super) type Events = BoxStream<'static, Result<SseEvent, ModelError>>;

/// Sends a request and opens the stream of the answer, which breaks when it is silent for `silence`.
pub(super) async fn post(request: RequestBuilder, silence: Duration) -> Result<Events, ModelError> {
    let answer = timeout(ANSWER_TIMEOUT, request.send()).await;
    let response = answer
        .map_err(|_| ModelError::BrokenStream)?
        .map_err(ModelError::Transport)?;
    let status = response.status();
    if !status.is_success() {
        let retry_after = retry_after(response.headers(), Utc::now());
        let body = error_body(response).await;
        return Err(failure::of_response(status.as_u16(), retry_after, &body));
    }
    let content_type = content_type(&response);
    if content_type.starts_with("text/html") {
        return Err(ModelError::Protocol(
            "a web page; is the base URL right?".into(),
        ));
    }
    let whole = content_type.starts_with("application/json");
    let chunks = response.bytes_stream().boxed();
    Ok(if whole {
        whole_body(chunks, silence)
    } else {
        events(chunks, silence)
    })
}

fn content_type(response: &Response) -> String {
    let header = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    header.unwrap_or_default().to_ascii_lowercase()
}

/// What `Retry-After` asks for, in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = value.parse() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = DateTime::parse_from_rfc2822(value).ok()?;
    Some((date.to_utc() - now).to_std().unwrap_or_default())
}

async fn error_body(response: Response) -> String {
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    let read = async {
        while let Some(Ok(chunk)) = chunks.next().await {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_ERROR_BODY_BYTES {
                break;
            }
        }
    };
    // What has arrived by then is still worth showing.
    let _ = timeout(ERROR_BODY_TIMEOUT, read).await;
    String::from_utf8_lossy(&body).into_owned()
}

/// Chunks, within the limits of time and size.
struct Chunks<S> {
    chunks: S,
    silence: Duration,
    bytes: usize,
}

impl<S: Stream<Item = Result<Bytes, reqwest::Error>> + Unpin> Chunks<S> {
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        let next = timeout(self.silence, self.chunks.next()).await;
        let Some(chunk) = next.map_err(|_| ModelError::BrokenStream)? else {
            return Ok(None);
        };
        let chunk = chunk.map_err(ModelError::Transport)?;
        self.bytes += chunk.len();
        if self.bytes > MAX_REPLY_BYTES {
            return Err(ModelError::Protocol(format!(
                "more than {MAX_REPLY_BYTES} bytes"
            )));
        }
        Ok(Some(chunk))
    }
}

pub(super) fn events<S>(chunks: S, silence: Duration) -> Events
where
    S: Stream<Item = Result<Bytes, reqwest::Error>> + Send + Unpin + 'static,
{
    let chunks = Chunks {
        chunks,
        silence,
        bytes: 0,
    };
    let start = (chunks, SseDecoder::default(), VecDeque::new());
    let events = stream::try_unfold(start, |(mut chunks, mut decoder, mut ready)| async move {
        loop {
            if let Some(event) = ready.pop_front() {
                return Ok(Some((event, (chunks, decoder, ready))));
            }
            let Some(chunk) = chunks.next().await? else {
                return Ok(None);
            };
            let decoded = decoder.decode(&chunk);
            ready.extend(decoded.map_err(|error| ModelError::Protocol(error.to_string()))?);
        }
    });
    events.boxed()
}

/// A server that does not stream, or reports an error with status 200, sends one JSON document:
/// it counts as one event.
fn whole_body<S>(chunks: S, silence: Duration) -> Events
where
    S: Stream<Item = Result<Bytes, reqwest::Error>> + Send + Unpin + 'static,
{
    let mut chunks = Chunks {
        chunks,
        silence,
        bytes: 0,
    };
    let read = async move {
        let mut body = Vec::new();
        while let Some(chunk) = chunks.next().await? {
            body.extend_from_slice(&chunk);
        }
        let data = String::from_utf8_lossy(&body).into_owned();
        Ok(SseEvent {
            data,
            ..SseEvent::default()
        })
    };
    stream::once(read).boxed()
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn retry_after_is_read_in_seconds_and_as_a_date() {
        let now = DateTime::parse_from_rfc3339("2026-11-05T10:00:00Z")
            .unwrap()
            .to_utc();
        for (value, expected) in [
            ("7", Some(Duration::from_secs(7))),
            ("0.5", Some(Duration::from_millis(500))),
            (
                "Thu, 05 Nov 2026 10:01:30 GMT",
                Some(Duration::from_secs(90)),
            ),
            ("Thu, 05 Nov 2026 09:00:00 GMT", Some(Duration::ZERO)),
            ("-1", None),
            ("NaN", None),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
            assert_eq!(retry_after(&headers, now), expected, "{value}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_is_broken_and_one_with_comments_is_not() {
        let silence = Duration::from_secs(60);
        let comments = stream::iter(0..5).then(|_| async {
            tokio::time::sleep(Duration::from_secs(50)).await;
            Ok(Bytes::from_static(b": ping\n\n"))
        });
        let last = stream::once(async { Ok(Bytes::from_static(b"data: x\n\n")) });
        let chunks = comments.chain(last).chain(stream::pending()).boxed();
        let start = tokio::time::Instant::now();
        let seen: Vec<_> = events(chunks, silence).collect().await;
        assert_eq!(start.elapsed().as_secs(), 5 * 50 + 60);
        assert!(
            matches!(&seen[..], [Ok(event), Err(ModelError::BrokenStream)] if event.data == "x")
        );
    }
}
