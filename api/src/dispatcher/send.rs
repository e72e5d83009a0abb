//! One delivery attempt: the signed request and the interpretation of its response.

use std::error::Error;
use std::time::{Duration, Instant};

use chrono::DateTime;
use reqwest::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use reqwest::{Response, StatusCode};
use shared::address::AddressError;
use shared::webhook::{Failure, WebhookSecret};
use tokio::time::{Instant as Deadline, timeout_at};
use url::Url;

use crate::webhook_target::WebhookClients;

/// The time limit of an attempt, from the DNS lookup to the response.
const TIMEOUT: Duration = Duration::from_secs(15);
/// The maximum size of a stored response body. The rest is not read.
const MAX_RESPONSE_BYTES: usize = 4096;
/// The maximum length of a stored error message.
const MAX_ERROR_BYTES: usize = 500;

/// A request to sign and send.
pub(super) struct SignedRequest<'a> {
    pub(super) url: &'a str,
    pub(super) id: &'a str,
    pub(super) body: Vec<u8>,
    pub(super) secrets: &'a [WebhookSecret],
}

/// The answer of a receiver, or the error if there is none.
#[derive(Debug, Default)]
pub(super) struct ReceiverAnswer {
    pub(super) status: Option<u16>,
    pub(super) error: Option<String>,
    pub(super) response: Option<String>,
    pub(super) retry_after: Option<Duration>,
    /// Whether the address is not permitted. Such a delivery is not retried.
    pub(super) is_refused: bool,
    pub(super) took: Duration,
}

impl ReceiverAnswer {
    /// A failed attempt without a response.
    pub(super) fn failed(error: String) -> Self {
        Self {
            error: Some(error),
            ..Self::default()
        }
    }

    /// Whether the receiver accepted the event.
    pub(super) fn is_accepted(&self) -> bool {
        self.error.is_none()
    }

    /// Whether the receiver asks for no more deliveries (410 Gone).
    pub(super) fn is_gone(&self) -> bool {
        self.status == Some(StatusCode::GONE.as_u16())
    }

    /// The failure that determines the retry delay.
    pub(super) fn failure(&self) -> Failure {
        Failure {
            status: self.status,
            retry_after: self.retry_after,
        }
    }
}

/// Sends a request, and waits for the response.
pub(super) async fn send(clients: &WebhookClients, request: SignedRequest<'_>) -> ReceiverAnswer {
    let begun_at = Instant::now();
    let mut answer = exchange(clients, request).await;
    answer.took = begun_at.elapsed();
    answer
}

async fn exchange(clients: &WebhookClients, request: SignedRequest<'_>) -> ReceiverAnswer {
    let Ok(url) = request.url.parse::<Url>() else {
        return ReceiverAnswer::failed("the URL of the webhook is invalid".to_owned());
    };
    let client = match clients.of(&url) {
        Ok(client) => client,
        Err(error) => return refused(&error),
    };
    let timestamp = shared::clock::now().timestamp();
    let signatures = request.secrets.iter();
    let signatures = signatures.map(|secret| secret.sign(request.id, timestamp, &request.body));
    let signatures: Vec<_> = signatures.collect();
    let sending = client
        .post(url)
        .header(CONTENT_TYPE, "application/json")
        .header("webhook-id", request.id)
        .header("webhook-timestamp", timestamp)
        .header("webhook-signature", signatures.join(" "))
        .body(request.body)
        .send();
    let deadline = Deadline::now() + TIMEOUT;
    match timeout_at(deadline, sending).await {
        Ok(Ok(response)) => read(response, deadline).await,
        Ok(Err(error)) => match AddressError::of(&error) {
            Some(refusal) => refused(refusal),
            None => ReceiverAnswer::failed(explain(&error)),
        },
        Err(_) => ReceiverAnswer::failed(format!("no answer within {} s", TIMEOUT.as_secs())),
    }
}

/// Reads a response. The status alone decides the result, even if the body is incomplete.
async fn read(mut response: Response, deadline: Deadline) -> ReceiverAnswer {
    let status = response.status();
    let retry_after = retry_after(response.headers());
    let mut body = Vec::new();
    while body.len() < MAX_RESPONSE_BYTES {
        match timeout_at(deadline, response.chunk()).await {
            Ok(Ok(Some(chunk))) => body.extend_from_slice(&chunk),
            _ => break,
        }
    }
    body.truncate(MAX_RESPONSE_BYTES);
    let text = String::from_utf8_lossy(&body).replace('\0', "\u{fffd}");
    ReceiverAnswer {
        status: Some(status.as_u16()),
        error: (!status.is_success()).then(|| refusal(status)),
        response: Some(text),
        retry_after,
        ..ReceiverAnswer::default()
    }
}

fn refusal(status: StatusCode) -> String {
    if status.is_redirection() {
        format!("the receiver redirects ({status}); redirects are not followed, so change the URL")
    } else {
        format!("the receiver answered with {status}")
    }
}

fn refused(error: &AddressError) -> ReceiverAnswer {
    ReceiverAnswer {
        is_refused: true,
        ..ReceiverAnswer::failed(format!("address_refused: {error}"))
    }
}

/// Parses `Retry-After`, which contains seconds or a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let at = DateTime::parse_from_rfc2822(text).ok()?;
    (at.to_utc() - shared::clock::now()).to_std().ok()
}

/// Describes the innermost cause of an error, without the URL, which may contain a secret.
fn explain(error: &reqwest::Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let cause = causes.last().map(ToString::to_string).unwrap_or_default();
    let what = if error.is_connect() {
        "cannot be reached"
    } else {
        "no proper answer"
    };
    let mut text = format!("{what}: {cause}");
    text.truncate(text.floor_char_boundary(MAX_ERROR_BYTES));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        let read = |text: &str| {
            let headers = HeaderMap::from_iter([(RETRY_AFTER, text.parse().unwrap())]);
            retry_after(&headers)
        };
        assert_eq!(read("120"), Some(Duration::from_secs(120)));
        let later = shared::clock::now() + chrono::TimeDelta::minutes(10);
        let found = read(&later.format("%a, %d %b %Y %H:%M:%S GMT").to_string()).unwrap();
        assert!((590..=600).contains(&found.as_secs()), "{found:?}");
        for text in ["soon", "-1", "1.5", "Sun, 06 Nov 1994 08:49:37 GMT"] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
