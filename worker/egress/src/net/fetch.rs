//! Download of job inputs by URL. The address policy applies to each redirect.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use ipnet::IpNet;
use reqwest::{Client, Url, redirect};
use shared::address::{AddressError, AddressPolicy};

const MAX_REDIRECTS: usize = 5;
/// The maximum size of a fetched file.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// The longest pause between two reads of a body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest time for a whole fetch, however steadily the data arrives.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A file that is being fetched.
pub struct Fetched {
    /// The last segment of the final URL.
    pub name: String,
    /// The body.
    pub chunks: BoxStream<'static, Result<Bytes, FetchError>>,
}

/// The reason why a file cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The URL or its address is not permitted.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The status is not a success status.
    #[error("it answered with status {0}")]
    Status(u16),
    /// The file is larger than the limit.
    #[error("it is larger than {MAX_BYTES} bytes")]
    TooLarge,
    /// There are more redirects than the limit.
    #[error("it redirects more than {MAX_REDIRECTS} times")]
    TooManyRedirects,
    /// The server was silent for too long, or the download took too long.
    #[error("it is too slow: no data for {} s, or not finished within {} s", READ_TIMEOUT.as_secs(), FETCH_TIMEOUT.as_secs())]
    TooSlow,
    /// The connection failed.
    #[error("it did not answer")]
    Transport(#[source] reqwest::Error),
}

/// An HTTP client for inputs. It connects to permitted addresses only, also after redirects.
#[derive(Clone)]
pub struct FetchClient {
    http: Client,
    policy: AddressPolicy,
}

impl FetchClient {
    /// Creates a client. `allowed` are private networks that the operator opened.
    pub fn new(allowed: &[IpNet]) -> reqwest::Result<Self> {
        let policy = AddressPolicy::new(allowed.into());
        let at_redirect = policy.clone();
        let redirects = redirect::Policy::custom(move |attempt| {
            if attempt.previous().len() > MAX_REDIRECTS {
                return attempt.error("too many redirects");
            }
            match at_redirect.permits_url(attempt.url()) {
                Ok(()) => attempt.follow(),
                Err(error) => attempt.error(error),
            }
        });
        let http = policy
            .client()
            .read_timeout(READ_TIMEOUT)
            .redirect(redirects)
            .build()?;
        Ok(Self { http, policy })
    }
}

/// Starts to fetch a URL. When it returns, the status was successful and the body is still to come.
pub async fn get(client: &FetchClient, url: &str) -> Result<Fetched, FetchError> {
    let url: Url = url.parse().map_err(|_| AddressError::NotHttp)?;
    client.policy.permits_url(&url)?;
    let request = client.http.get(url).timeout(FETCH_TIMEOUT);
    let response = request.send().await.map_err(transport)?;
    if !response.status().is_success() {
        return Err(FetchError::Status(response.status().as_u16()));
    }
    if response
        .content_length()
        .is_some_and(|length| length > MAX_BYTES)
    {
        return Err(FetchError::TooLarge);
    }
    let segment = response
        .url()
        .path_segments()
        .and_then(|mut segments| segments.next_back())
        .unwrap_or_default();
    let name = percent_encoding::percent_decode_str(segment)
        .decode_utf8_lossy()
        .into_owned();
    let mut total = 0;
    let chunks = response
        .bytes_stream()
        .map_err(transport)
        .and_then(move |chunk| {
            total += chunk.len() as u64;
            let judged = if total > MAX_BYTES {
                Err(FetchError::TooLarge)
            } else {
                Ok(chunk)
            };
            std::future::ready(judged)
        });
    Ok(Fetched {
        name,
        chunks: chunks.boxed(),
    })
}

/// Converts a client error, which is a wrapped refusal of the address policy or a failure of the transport.
fn transport(error: reqwest::Error) -> FetchError {
    if let Some(refusal) = AddressError::of(&error) {
        return refusal.clone().into();
    }
    if error.is_redirect() {
        return FetchError::TooManyRedirects;
    }
    if error.is_timeout() && !error.is_connect() {
        return FetchError::TooSlow;
    }
    // The URL may contain a secret in its query.
    FetchError::Transport(error.without_url())
}
