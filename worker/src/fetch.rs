//! Fetching what a client named: public addresses only, looked at again at each redirect.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Url, redirect};

use crate::address::AddressPolicy;

const MAX_REDIRECTS: usize = 5;
/// The largest file that is fetched.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The longest silence in a body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);
/// The longest that a file may take from the first byte sent to the last received, however steadily it comes.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// A file on its way.
pub(crate) struct Fetched {
    /// The last segment of the URL that answered.
    pub(crate) name: String,
    pub(crate) chunks: BoxStream<'static, Result<Bytes, FetchError>>,
}

/// Why a file cannot be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    #[error("it is not an http or https URL")]
    NotHttp,
    #[error("its address is not public")]
    NotPublic,
    #[error("it answered with status {0}")]
    Status(u16),
    #[error("it is larger than {MAX_BYTES} bytes")]
    TooLarge,
    #[error("it redirects more than {MAX_REDIRECTS} times")]
    TooManyRedirects,
    #[error("it is too slow: silent for {} s, or not done within {} s", READ_TIMEOUT.as_secs(), FETCH_TIMEOUT.as_secs())]
    TooSlow,
    #[error("it did not answer")]
    Transport(#[source] reqwest::Error),
}

impl AddressPolicy {
    /// Names are judged when they are resolved; an address in the URL never is, so it is judged here.
    pub(crate) fn permits_url(&self, url: &Url) -> Result<(), FetchError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(FetchError::NotHttp);
        }
        let host = url.host_str().ok_or(FetchError::NotHttp)?;
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) if !self.permits(address) => Err(FetchError::NotPublic),
            _ => Ok(()),
        }
    }
}

impl Resolve for AddressPolicy {
    fn resolve(&self, name: Name) -> Resolving {
        let policy = self.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let permitted: Vec<SocketAddr> = found
                .filter(|address| policy.permits(address.ip()))
                .collect();
            if permitted.is_empty() {
                return Err(FetchError::NotPublic.into());
            }
            // The connection goes to one of these, without a second look-up.
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

/// A client that keeps to the rules.
#[derive(Clone)]
pub(crate) struct FetchClient {
    http: Client,
    policy: AddressPolicy,
}

impl FetchClient {
    /// `allowed` are private networks that the operator opened.
    pub(crate) fn new(allowed: &[IpNet]) -> reqwest::Result<Self> {
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
        let http = Client::builder()
            .user_agent(concat!("skillet/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(redirects)
            // A proxy would resolve names where nobody looks at the addresses.
            .no_proxy()
            .dns_resolver(policy.clone())
            .build()?;
        Ok(Self { http, policy })
    }
}

/// Begins to fetch a URL; its status is good, its body still to come.
pub(crate) async fn get(client: &FetchClient, url: &str) -> Result<Fetched, FetchError> {
    let url: Url = url.parse().map_err(|_| FetchError::NotHttp)?;
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

/// Our own refusal, wherever it was wrapped on its way.
fn transport(error: reqwest::Error) -> FetchError {
    let mut source = std::error::Error::source(&error);
    while let Some(cause) = source {
        if let Some(FetchError::NotPublic) = cause.downcast_ref::<FetchError>() {
            return FetchError::NotPublic;
        }
        source = cause.source();
    }
    if error.is_redirect() {
        return FetchError::TooManyRedirects;
    }
    if error.is_timeout() && !error.is_connect() {
        return FetchError::TooSlow;
    }
    // The URL may hold a secret in its query.
    FetchError::Transport(error.without_url())
}
