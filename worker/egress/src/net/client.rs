//! HTTP clients that connect to permitted addresses only.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::{Client, Request, Response, Url, redirect};
use shared::address::{AddressError, AddressPolicy, private_network};

/// The maximum length of an error cause that the model reads.
const MAX_CAUSE_BYTES: usize = 500;

/// The HTTP clients of tools and MCP connections.
pub struct WebClients {
    /// For the tools of jobs.
    pub tools: WebClient,
    /// For MCP servers, which an agent declares like hosts.
    mcp: WebClient,
}

/// An HTTP client that connects to permitted addresses only. It follows no redirects and decodes no content.
pub struct WebClient {
    http: Client,
    policy: AddressPolicy,
}

impl WebClients {
    /// Creates the clients. `fetch` are private networks that the operator opened for fetched URLs, `egress` those
    /// that commands can reach.
    pub fn new(fetch: &[IpNet], egress: &[IpNet]) -> reqwest::Result<Self> {
        let opened: Arc<[IpNet]> = [fetch, egress].concat().into();
        Ok(Self {
            tools: WebClient::new(opened.clone(), packed())?,
            mcp: WebClient::new(opened, HeaderMap::new())?,
        })
    }

    /// Returns the client for the MCP server at this URL, if its address is permitted. The client requests no
    /// compression and decodes no content.
    pub fn mcp(&self, url: &Url) -> Result<Client, AddressError> {
        self.mcp.check(url)?;
        Ok(self.mcp.http.clone())
    }
}

/// Returns headers that request gzip. The caller decodes the content and counts the decoded bytes.
fn packed() -> HeaderMap {
    HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))])
}

impl WebClient {
    fn new(opened: Arc<[IpNet]>, headers: HeaderMap) -> reqwest::Result<Self> {
        let policy = AddressPolicy::new(opened);
        let http = policy
            .client()
            .default_headers(headers)
            .redirect(redirect::Policy::none())
            .build()?;
        Ok(Self { http, policy })
    }

    /// Checks that this is a web URL and that its address, if it contains one, is permitted. Names are checked when
    /// they are resolved.
    pub fn check(&self, url: &Url) -> Result<(), AddressError> {
        self.policy.permits_url(url)
    }

    /// The underlying client, to build requests.
    pub fn http(&self) -> &Client {
        &self.http
    }

    /// Sends a request. The error message is for the model.
    pub async fn send(&self, request: Request) -> Result<Response, String> {
        let host = request.url().host_str().unwrap_or_default().to_owned();
        let answer = self.http.execute(request).await;
        answer.map_err(|error| explain(&host, error))
    }
}

/// Returns the message for a refused host, with the setting that permits it, for the model. It does not reveal the
/// address of a name.
pub fn not_public(host: &str) -> String {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let network = match address.map(private_network) {
        Ok(Some(network)) => network,
        Ok(None) => return format!("{host} is refused: its address is not public"),
        Err(_) => "and its network",
    };
    format!(
        "{host} is refused: its address is not public; the operator can allow it with --egress-allow {network}"
    )
}

/// Describes a request error in one sentence, without the URL, which may contain a secret.
pub fn explain(host: &str, error: reqwest::Error) -> String {
    let error = error.without_url();
    if AddressError::of(&error) == Some(&AddressError::NotPublic) {
        return not_public(host);
    }
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    let mut told = causes
        .last()
        .map_or_else(|| error.to_string(), ToString::to_string);
    told.truncate(told.floor_char_boundary(MAX_CAUSE_BYTES));
    let what = if error.is_connect() {
        "cannot be reached"
    } else {
        "sent no valid response"
    };
    format!("{host} {what}: {told}")
}
