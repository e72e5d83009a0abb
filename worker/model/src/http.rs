//! One call over HTTP: it sends a request and receives Server-Sent Events.

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::time::Duration;

use bytes::Bytes;
use chrono::{DateTime, Utc};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{RequestBuilder, Response};
use shared::sse::{SseDecoder, SseEvent};
use tokio::time::timeout;

use crate::{ModelError, failure};

/// The maximum time until a provider's status line, after which the call counts as broken. Local servers load the
/// model and read the whole prompt first.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// The maximum silence of a stream that has started, after which the stream counts as broken.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);

/// The maximum wait for the rest of an error's text. After it, the text so far is used.
const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// A header that is more precise than `Retry-After`. OpenAI and Azure send both.
const RETRY_AFTER_MS: &str = "retry-after-ms";

/// The maximum number of bytes of an error's text that are read. The rest is dropped with the connection.
const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;

/// The maximum number of bytes of one reply. A provider that sends more is malfunctioning.
const MAX_REPLY_BYTES: usize = 64 * 1024 * 1024;

/// The events of a response. An error is the last item.
pub(super) type Events = BoxStream<'static, Result<SseEvent, ModelError>>;

/// The maximum silence of a stream. Every byte counts, including those of comments and pings.
#[derive(Clone, Copy)]
pub(super) struct SilenceLimits {
    /// The maximum silence before the first byte.
    pub(super) first: Duration,
    /// The maximum silence after the first byte.
    pub(super) between: Duration,
}

impl SilenceLimits {
    /// Returns the limits for a server that sends signs of life from the start.
    pub(super) fn with_pings(stall_seconds: Option<NonZeroU32>) -> Self {
        let between = stall_timeout(stall_seconds);
        Self {
            first: between,
            between,
        }
    }

    /// Returns the limits for a server that may be silent while its model loads, reads and thinks.
    pub(super) fn with_silent_start(stall_seconds: Option<NonZeroU32>) -> Self {
        let between = stall_timeout(stall_seconds);
        Self {
            first: between.max(ANSWER_TIMEOUT),
            between,
        }
    }
}

fn stall_timeout(seconds: Option<NonZeroU32>) -> Duration {
    seconds.map_or(STALL_TIMEOUT, |seconds| {
        Duration::from_secs(seconds.get().into())
    })
}

/// Sends a request and opens the stream of the response.
pub(super) async fn post(
    request: RequestBuilder,
    silence_limits: SilenceLimits,
) -> Result<Events, ModelError> {
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
            "an HTML page; check the base URL".into(),
        ));
    }
    let whole = content_type.starts_with("application/json");
    let chunks = response.bytes_stream().boxed();
    Ok(if whole {
        whole_body(chunks, silence_limits)
    } else {
        events(chunks, silence_limits)
    })
}

fn content_type(response: &Response) -> String {
    let header = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    header.unwrap_or_default().to_ascii_lowercase()
}

/// Returns the pause of `retry-after-ms`, or else of `Retry-After`, in seconds or as a date.
fn retry_after(headers: &HeaderMap, now: DateTime<Utc>) -> Option<Duration> {
    let value = |name: &str| Some(headers.get(name)?.to_str().ok()?.trim());
    let number = |name: &str| value(name)?.parse::<f64>().ok();
    let seconds = number(RETRY_AFTER_MS).map(|ms| ms / 1000.0);
    let duration = |seconds| Duration::try_from_secs_f64(seconds).ok();
    if let Some(asked) = seconds.and_then(duration) {
        return Some(asked);
    }
    let value = value(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = value.parse() {
        return duration(seconds);
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
    // The text that has arrived by then is still useful.
    let _ = timeout(ERROR_BODY_TIMEOUT, read).await;
    String::from_utf8_lossy(&body).into_owned()
}

/// Chunks, with limits of time and size.
struct Chunks<S> {
    chunks: S,
    silence_limits: SilenceLimits,
    bytes: usize,
}

impl<S: Stream<Item = Result<Bytes, reqwest::Error>> + Unpin> Chunks<S> {
    async fn next(&mut self) -> Result<Option<Bytes>, ModelError> {
        let limit = if self.bytes == 0 {
            self.silence_limits.first
        } else {
            self.silence_limits.between
        };
        let next = timeout(limit, self.chunks.next()).await;
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

pub(super) fn events<S>(chunks: S, silence_limits: SilenceLimits) -> Events
where
    S: Stream<Item = Result<Bytes, reqwest::Error>> + Send + Unpin + 'static,
{
    let chunks = Chunks {
        chunks,
        silence_limits,
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

/// Returns a response that is one JSON document as one event. Servers that do not stream send one, and so do servers
/// that report an error with status 200.
fn whole_body<S>(chunks: S, silence_limits: SilenceLimits) -> Events
where
    S: Stream<Item = Result<Bytes, reqwest::Error>> + Send + Unpin + 'static,
{
    let mut chunks = Chunks {
        chunks,
        silence_limits,
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
    use reqwest::header::{HeaderName, HeaderValue};

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
            ("31536000", Some(Duration::from_secs(31_536_000))),
            ("1e19", Some(Duration::from_secs(10_u64.pow(19)))),
            ("1e20", None),
            ("inf", None),
            ("-1", None),
            ("NaN", None),
            ("soon", None),
        ] {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, HeaderValue::from_static(value))]);
            assert_eq!(retry_after(&headers, now), expected, "{value}");
        }
    }

    #[test]
    fn milliseconds_win_over_seconds() {
        let ms = HeaderName::from_static(RETRY_AFTER_MS);
        let seconds = (RETRY_AFTER, HeaderValue::from_static("2"));
        for (value, expected) in [("1250", 1250), ("-3", 2000), ("soon", 2000)] {
            let headers = [
                (ms.clone(), HeaderValue::from_static(value)),
                seconds.clone(),
            ];
            let read = retry_after(&HeaderMap::from_iter(headers), Utc::now());
            assert_eq!(read, Some(Duration::from_millis(expected)), "{value}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_model_may_be_silent_for_longer_before_it_begins() {
        let silence_limits = SilenceLimits::with_silent_start(None);
        let late = stream::once(async {
            tokio::time::sleep(Duration::from_secs(290)).await;
            Ok(Bytes::from_static(b"data: x\n\n"))
        });
        let start = tokio::time::Instant::now();
        let chunks = late.chain(stream::pending()).boxed();
        let seen: Vec<_> = events(chunks, silence_limits).collect().await;
        assert_eq!(start.elapsed().as_secs(), 290 + 60);
        assert!(matches!(&seen[..], [Ok(_), Err(ModelError::BrokenStream)]));
        let start = tokio::time::Instant::now();
        let seen: Vec<_> = events(stream::pending().boxed(), silence_limits)
            .collect()
            .await;
        assert_eq!(start.elapsed().as_secs(), 300);
        assert!(matches!(&seen[..], [Err(ModelError::BrokenStream)]));
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_stream_is_broken_and_one_with_comments_is_not() {
        let silence_limits = SilenceLimits::with_pings(None);
        let comments = stream::iter(0..5).then(|_| async {
            tokio::time::sleep(Duration::from_secs(50)).await;
            Ok(Bytes::from_static(b": ping\n\n"))
        });
        let last = stream::once(async { Ok(Bytes::from_static(b"data: x\n\n")) });
        let chunks = comments.chain(last).chain(stream::pending()).boxed();
        let start = tokio::time::Instant::now();
        let seen: Vec<_> = events(chunks, silence_limits).collect().await;
        assert_eq!(start.elapsed().as_secs(), 5 * 50 + 60);
        assert!(
            matches!(&seen[..], [Ok(event), Err(ModelError::BrokenStream)] if event.data == "x")
        );
    }
}
