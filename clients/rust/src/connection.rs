//! The connection to a service: its URL, the API key, and requests with retries.

use std::time::Duration;

use reqwest::{Method, Request, RequestBuilder, Response, StatusCode, Url};
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use crate::error::{Error, ServiceError, is_transient};
use crate::resolver::Resolver;
use crate::retry::{MAX_RETRY_AFTER, Timing, retry_after};

pub(crate) const IDEMPOTENCY_KEY: &str = "idempotency-key";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of a response. It does not apply to streams or while an upload is sent.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection to a service with an API key.
#[derive(Clone)]
pub(crate) struct ServiceConnection {
    http: reqwest::Client,
    pub(crate) url: String,
    api_key: String,
    pub(crate) timing: Timing,
}

impl ServiceConnection {
    /// Creates a connection. Sends no request.
    pub(crate) fn new(
        url: &str,
        api_key: String,
        user_agent: &str,
        timing: Timing,
    ) -> Result<Self, Error> {
        check_url(url)?;
        // This fails if the program has already installed a provider, which then stays in use.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let http = reqwest::Client::builder()
            .dns_resolver(Resolver)
            .connect_timeout(CONNECT_TIMEOUT)
            .user_agent(user_agent)
            .build()
            .map_err(Error::Setup)?;
        Ok(Self {
            http,
            url: url.trim_end_matches('/').to_owned(),
            api_key,
            timing,
        })
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http
            .request(method, format!("{}{path}", self.url))
            .bearer_auth(&self.api_key)
    }

    /// Sends a request. Retries if the method or an idempotency key makes that safe.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let request = request.build().map_err(Error::Setup)?;
        let is_repeatable = matches!(
            *request.method(),
            Method::GET | Method::HEAD | Method::PUT | Method::DELETE
        ) || request.headers().contains_key(IDEMPOTENCY_KEY);
        self.send_whole(request, is_repeatable).await
    }

    /// Sends a request that is safe to repeat, although its method is POST.
    pub(crate) async fn send_repeatable(&self, request: RequestBuilder) -> Result<Response, Error> {
        let request = request.build().map_err(Error::Setup)?;
        self.send_whole(request, true).await
    }

    async fn send_whole(&self, request: Request, is_repeatable: bool) -> Result<Response, Error> {
        let attempt = || {
            let request = request.try_clone().expect("the body is in memory");
            let answer = self.execute(request);
            async {
                let answer = timeout(ANSWER_TIMEOUT, answer).await;
                answer.unwrap_or_else(|_| Err(self.timed_out(ANSWER_TIMEOUT)))
            }
        };
        self.with_retries(is_repeatable, attempt).await
    }

    /// Sends a request once. Returns `Ok` for every HTTP status.
    pub(crate) fn execute(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + Send + use<> {
        let answer = self.http.execute(request);
        let url = self.url.clone();
        async move {
            answer
                .await
                .map_err(|cause| Error::Connection { url, cause })
        }
    }

    /// Repeats an attempt until it succeeds, fails permanently or reaches the limit of attempts. A request that is not
    /// repeatable may have been executed before its connection was lost. Such a request is repeated only after status
    /// 429.
    pub(crate) async fn with_retries<F>(
        &self,
        is_repeatable: bool,
        mut attempt: impl FnMut() -> F,
    ) -> Result<Response, Error>
    where
        F: Future<Output = Result<Response, Error>>,
    {
        let mut failures = 0;
        loop {
            let answer = attempt().await;
            failures += 1;
            let mut delay = self.timing.backoff(failures);
            let is_last = failures >= self.timing.attempts;
            match answer {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => {
                    let status = response.status();
                    delay = retry_after(response.headers()).unwrap_or(delay);
                    let may_change = status == StatusCode::TOO_MANY_REQUESTS
                        || (is_repeatable && is_transient(status.as_u16()));
                    if is_last || !may_change || delay > MAX_RETRY_AFTER {
                        return Err(self.refused(response).await);
                    }
                }
                Err(error) if is_last || !is_repeatable || !error.is_transient() => {
                    return Err(error);
                }
                Err(_) => {}
            }
            sleep(delay).await;
        }
    }

    /// Returns the error for a response that is not a success.
    pub(crate) async fn refused(&self, response: Response) -> Error {
        let status = response.status().as_u16();
        let retry_after = retry_after(response.headers());
        let body = timeout(ANSWER_TIMEOUT, response.bytes()).await;
        let body = body.ok().and_then(Result::ok).unwrap_or_default();
        Error::Service(Box::new(ServiceError {
            status,
            problem: serde_json::from_slice(&body).ok(),
            retry_after,
        }))
    }

    /// Sends a request and parses the JSON of its response.
    pub(crate) async fn json<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, Error> {
        self.read(self.send(request).await?).await
    }

    /// Parses the JSON of a response.
    pub(crate) async fn read<T: DeserializeOwned>(&self, response: Response) -> Result<T, Error> {
        let body = self.body(response).await?;
        serde_json::from_slice(&body).map_err(Error::Answer)
    }

    /// Reads the whole body of a response.
    pub(crate) async fn body(&self, response: Response) -> Result<Vec<u8>, Error> {
        let body = timeout(ANSWER_TIMEOUT, response.bytes()).await;
        let body = body.map_err(|_| self.timed_out(ANSWER_TIMEOUT))?;
        let body = body.map_err(|cause| self.lost(cause))?;
        Ok(body.into())
    }

    pub(crate) fn lost(&self, cause: reqwest::Error) -> Error {
        let url = self.url.clone();
        Error::Connection { url, cause }
    }

    pub(crate) fn timed_out(&self, waited: Duration) -> Error {
        let url = self.url.clone();
        Error::Timeout { url, waited }
    }
}

/// Returns an error unless the URL is an `http` or `https` URL with a host.
fn check_url(url: &str) -> Result<(), Error> {
    let is_http = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    match Url::parse(url) {
        Ok(parsed) if is_http(&parsed) => Ok(()),
        _ => Err(Error::Url(url.to_owned())),
    }
}
