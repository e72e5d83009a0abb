//! A server that is called by HTTP, at an address that the worker's rules permit.

mod answer;
mod http_transport;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::transport::common::client_side_sse::FixedInterval;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
};

use crate::context::ToolContext;
pub(super) use http_transport::{HttpTransport, Unreached};
use shared::address::AddressError;
use worker_egress::net::not_public;

/// The maximum number of times that an interrupted response is resumed.
const MAX_RESUMPTIONS: usize = 5;
const RESUMPTION_PAUSE: Duration = Duration::from_millis(500);

type Headers = HashMap<HeaderName, HeaderValue>;

/// Opens the transport to the server at the URL. An error is a message for people.
pub(super) fn open(
    url: &str,
    headers: &BTreeMap<String, String>,
    context: &ToolContext<'_>,
) -> Result<StreamableHttpClientTransport<HttpTransport>, String> {
    let parsed = Url::parse(url).map_err(|error| format!("its URL is invalid: {error}"))?;
    let host = parsed.host_str().unwrap_or_default();
    let http = context.web.mcp(&parsed).map_err(|error| match error {
        AddressError::NotPublic => not_public(host),
        error => error.to_string(),
    })?;
    let mut resumption = FixedInterval::default();
    resumption.max_times = Some(MAX_RESUMPTIONS);
    resumption.duration = RESUMPTION_PAUSE;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(filled(headers, context)?)
        .reinit_on_expired_session(true);
    config.retry_config = Arc::new(resumption);
    let transport = HttpTransport::new(http, host);
    Ok(StreamableHttpClientTransport::with_client(
        transport, config,
    ))
}

/// Returns header fields with the values of secrets.
fn filled(
    headers: &BTreeMap<String, String>,
    context: &ToolContext<'_>,
) -> Result<Headers, String> {
    let mut filled = Headers::new();
    for (name, value) in headers {
        let value = context.secrets.fill(value);
        let value = value.map_err(|error| format!("its header {name}: {error}"))?;
        let (key, value) = (HeaderName::try_from(name), HeaderValue::try_from(value));
        let (Ok(key), Ok(mut value)) = (key, value) else {
            return Err(format!("its header {name} is invalid"));
        };
        value.set_sensitive(true);
        filled.insert(key, value);
    }
    Ok(filled)
}
