//! The tool `web.fetch`.

use std::fmt::Write;
use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::{Response, Url};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use shared::tool::ToolName;
use tokio::time::timeout;

use super::body::DecodedBody;
use super::html;
use super::reach::Reach;
use super::text::{ContentKind, decode, kind_of};
use crate::call::{Call, Done, Tool, ToolError, blocking};
use crate::context::ToolContext;
use worker_model::ToolSpec;

/// The default timeout of a call.
const TIMEOUT: Duration = Duration::from_secs(15);
const MAX_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_REDIRECTS: usize = 5;
/// The maximum number of decoded bytes of a page that are read.
const MAX_BYTES: usize = 5 * 1024 * 1024;

/// Reads a page of the web.
pub(crate) struct WebFetch;

#[derive(Deserialize, JsonSchema)]
#[serde(rename = "Arguments", deny_unknown_fields)]
struct FetchArguments {
    /// The page, with http:// or https://.
    url: String,
    /// Seconds to wait for all of it, at most 30. Default: 15.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

impl Tool for WebFetch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::WebFetch.as_str().into(),
            description: "Gets a page by GET and returns it for reading: HTML as text with links as [text](url), other text \
                          and JSON as they are. First come the final URL, the status, the content type and the title. \
                          Redirects are followed. Other content than text is refused with its type and size, and so are \
                          private addresses. At most 5 MiB are read."
                .to_owned(),
            input_schema: schema_for!(FetchArguments).into(),
        }
    }

    fn timeout(&self, _: &ToolContext<'_>) -> Duration {
        MAX_TIMEOUT
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let arguments: FetchArguments = call.arguments()?;
            let limit = arguments.timeout.map_or(TIMEOUT, Duration::from_secs);
            let limit = limit.min(call.timeout);
            let reach = Reach::of(call.context);
            match timeout(limit, fetch(&reach, &arguments.url)).await {
                Ok(fetched) => blocking(fetched.map_err(ToolError::Reply)?).await?,
                Err(_) => Ok(Done {
                    timed_out: true,
                    ..Done::error(format!(
                        "the page did not load within {} s",
                        limit.as_secs()
                    ))
                }),
            }
        })
    }
}

type PageConversion = Box<dyn FnOnce() -> Result<Done, ToolError> + Send>;

/// Requests a page. Returns the remaining work, which converts the page. An error is for the model.
async fn fetch(reach: &Reach<'_>, url: &str) -> Result<PageConversion, String> {
    let response = follow(reach, url).await?;
    let url = response.url().clone();
    let status = response.status();
    let content_type = header(&response, &CONTENT_TYPE).unwrap_or_default();
    let announced = response.content_length();
    let is_refused = !content_type.is_empty() && kind_of(&content_type, &[]) == ContentKind::Binary;
    if is_refused {
        let size = announced.map_or("of unknown size".to_owned(), |bytes| {
            format!("{bytes} bytes")
        });
        return Err(format!(
            "{url} is not text: it is {content_type}, {size} (status {status})"
        ));
    }
    let body = DecodedBody::read(response, MAX_BYTES).await?;
    Ok(Box::new(move || {
        convert(&url, status.as_u16(), &content_type, &body).map_err(ToolError::Reply)
    }))
}

/// Sends a request and follows redirects. Each redirect is checked like the first URL.
async fn follow(reach: &Reach<'_>, url: &str) -> Result<Response, String> {
    let mut url = reach.parse(url)?;
    for _ in 0..=MAX_REDIRECTS {
        let accepted =
            "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, */*;q=0.5";
        let request = reach
            .client
            .http()
            .get(url.clone())
            .header(ACCEPT, accepted);
        let request = request
            .build()
            .map_err(|error| error.without_url().to_string())?;
        let response = reach.client.send(request).await?;
        let location = header(&response, &LOCATION).filter(|_| response.status().is_redirection());
        let Some(location) = location else {
            return Ok(response);
        };
        let next = url.join(&location);
        let next = next.map_err(|error| format!("{url} redirects to an invalid URL: {error}"))?;
        reach
            .check(&next)
            .map_err(|refusal| format!("{url} redirects to {next}: {refusal}"))?;
        url = next;
    }
    Err(format!(
        "it redirects more than {MAX_REDIRECTS} times, last to {url}"
    ))
}

fn header(response: &Response, name: &reqwest::header::HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

fn convert(url: &Url, status: u16, content_type: &str, body: &DecodedBody) -> Result<Done, String> {
    let size = body.bytes.len();
    let (title, text) = match kind_of(content_type, &body.bytes) {
        ContentKind::Page => {
            let page = html::read(&decode(content_type, &body.bytes), url);
            (page.title, page.text)
        }
        ContentKind::Text => (None, decode(content_type, &body.bytes)),
        ContentKind::Binary => {
            let told = if content_type.is_empty() {
                "unknown"
            } else {
                content_type
            };
            return Err(format!(
                "{url} is not text, although its type is {told}: {size} bytes"
            ));
        }
    };
    let mut told = format!("url: {url}\nstatus: {status}\n");
    // Writing to a string cannot fail.
    let _ = writeln!(told, "content_type: {content_type}");
    if let Some(title) = title {
        let _ = writeln!(told, "title: {title}");
    }
    let _ = write!(told, "\n{text}");
    if body.is_cut {
        let _ = write!(
            told,
            "\n[The rest is left out: it is larger than {MAX_BYTES} bytes.]"
        );
    }
    Ok(Done {
        is_error: status >= 400,
        truncated: body.is_cut,
        ..Done::text(told)
    })
}
