//! The HTTP transport to an MCP server. It follows no redirects.

use std::sync::Arc;

use futures_util::stream::BoxStream;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::common::http_header::{HEADER_LAST_EVENT_ID, HEADER_SESSION_ID};
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::Headers;
use super::answer;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";

/// The HTTP client for one server. It uses only the address that the worker's rules permit, and follows no redirects.
#[derive(Clone)]
pub(in crate::mcp) struct HttpTransport {
    http: Client,
    host: Arc<str>,
}

/// The server was unreachable, or did not respond correctly. The text is for people and does not contain the URL.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(in crate::mcp) struct Unreached(pub(super) String);

type Result<T> = std::result::Result<T, StreamableHttpError<Unreached>>;

impl HttpTransport {
    pub(super) fn new(http: Client, host: &str) -> Self {
        Self {
            http,
            host: host.into(),
        }
    }

    /// Sends a request with the session and the headers that every request has.
    async fn send(
        &self,
        mut request: RequestBuilder,
        session: Option<Arc<str>>,
        headers: Headers,
    ) -> Result<Response> {
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header(HEADER_SESSION_ID, &*session);
        }
        let answer = request.send().await;
        answer.map_err(|error| unreached(worker_egress::net::explain(&self.host, error)))
    }

    /// Returns the error message in an unsuccessful response, or else an error with its status.
    async fn refused(&self, response: Response) -> Result<StreamableHttpPostResponse> {
        let status = response.status();
        if is(&response, JSON)
            && let Ok(error) = answer::read_error(response).await
        {
            return Ok(StreamableHttpPostResponse::Json(error, None));
        }
        Err(self.answered(status))
    }

    fn answered(&self, status: StatusCode) -> StreamableHttpError<Unreached> {
        let what = match status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ": check the credentials",
            status if status.is_redirection() => ": redirects are not followed",
            _ => "",
        };
        unreached(format!("{} answered {status}{what}", self.host))
    }
}

impl StreamableHttpClient for HttpTransport {
    type Error = Unreached;

    async fn post_message(
        &self,
        url: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse> {
        let has_session = session.is_some();
        let request = self.http.post(&*url).json(&message);
        let request = request.header(ACCEPT, format!("{JSON}, {EVENTS}"));
        let response = self.send(request, session, headers).await?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && has_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return self.refused(response).await;
        }
        let ClientJsonRpcMessage::Request(_) = &message else {
            return Ok(StreamableHttpPostResponse::Accepted);
        };
        let session = response.headers().get(HEADER_SESSION_ID);
        let session = session.and_then(|value| value.to_str().ok());
        let session = session.map(str::to_owned);
        if is(&response, EVENTS) {
            let events = answer::events(response);
            return Ok(StreamableHttpPostResponse::Sse(events, session));
        }
        let answer = answer::read(response).await;
        let answer = answer.map_err(|error| unreached(format!("{} {error}", self.host)))?;
        Ok(StreamableHttpPostResponse::Json(answer, session))
    }

    async fn delete_session(
        &self,
        url: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<()> {
        let request = self.http.delete(&*url);
        self.send(request, Some(session), headers).await.map(drop)
    }

    /// Resumes an interrupted response. Streams of unsolicited messages are not supported.
    async fn get_stream(
        &self,
        url: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _token: Option<String>,
        headers: Headers,
    ) -> Result<BoxStream<'static, std::result::Result<Sse, SseError>>> {
        let Some(last) = last else {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        };
        let request = self.http.get(&*url).header(ACCEPT, EVENTS);
        let request = request.header(HEADER_LAST_EVENT_ID, last);
        let response = self.send(request, session, headers).await?;
        let status = response.status();
        if status.is_success() && is(&response, EVENTS) {
            Ok(answer::events(response))
        } else if status == StatusCode::METHOD_NOT_ALLOWED {
            Err(StreamableHttpError::ServerDoesNotSupportSse)
        } else {
            Err(self.answered(status))
        }
    }
}

fn unreached(words: String) -> StreamableHttpError<Unreached> {
    StreamableHttpError::Client(Unreached(words))
}

/// Whether the response has this content type.
fn is(response: &Response, essence: &str) -> bool {
    let content_type = response.headers().get(CONTENT_TYPE);
    let content_type = content_type.map_or(&b""[..], HeaderValue::as_bytes);
    let said = content_type.get(..essence.len());
    said.is_some_and(|said| said.eq_ignore_ascii_case(essence.as_bytes()))
}
