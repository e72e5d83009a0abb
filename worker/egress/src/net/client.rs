//! HTTP clients that connect to permitted addresses only.

use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::{Client, Request, Response, Url, redirect};
use shared::address::{AddressError, AddressPolicy, private_network};

/// The words of an error that the model reads.
const MAX_CAUSE_BYTES: usize = 500;

/// The HTTP clients of tools and MCP connections.
pub struct WebClients {
    /// For the tools of jobs.
    pub tools: WebClient,
    /// For MCP servers, which an agent declares like hosts.
    mcp: WebClient,
}

/// An HTTP client that connects to permitted addresses only. It follows no redirect and decodes nothing.
pub struct WebClient {
    http: Client,
    policy: AddressPolicy,
}

impl WebClients {
    /// `fetch` are private networks that the operator opened for what is fetched, `egress` those that
    /// commands may reach.
    pub fn new(fetch: &[IpNet], egress: &[IpNet]) -> reqwest::Result<Self> {
        let opened: Arc<[IpNet]> = [fetch, egress].concat().into();
        Ok(Self {
            tools: WebClient::new(opened.clone(), packed())?,
            mcp: WebClient::new(opened, HeaderMap::new())?,
        })
    }

    /// The client for the MCP server at that URL, if its address is permitted. It requests no compression and decodes
    /// nothing.
    pub fn mcp(&self, url: &Url) -> Result<Client, AddressError> {
        self.mcp.check(url)?;
        Ok(self.mcp.http.clone())
    }
}

/// Requests gzip. The caller decodes it, and counts the decoded bytes.
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

    /// Whether that URL is of the web and its address, if it names one, is permitted. Names are judged
    /// when they are resolved.
    pub fn check(&self, url: &Url) -> Result<(), AddressError> {
        self.policy.permits_url(url)
    }

    /// The builder of a request.
    pub fn http(&self) -> &Client {
        &self.http
    }

    /// Sends a request. An error is for the model.
    pub async fn send(&self, request: Request) -> Result<Response, String> {
        let host = request.url().host_str().unwrap_or_default().to_owned();
        let answer = self.http.execute(request).await;
        answer.map_err(|error| explain(&host, error))
    }
}

/// A refusal with the setting that lifts it, for the model. The address of a name is not told.
pub fn not_public(host: &str) -> String {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let network = match address.map(private_network) {
        Ok(Some(network)) => network,
        Ok(None) => return format!("{host} is refused: its address is not public"),
        Err(_) => "and its network",
    };
    format!(
        "{host} is refused: its address is not public, and is refused unless the operator starts the worker with \
         --egress-allow {network}"
    )
}

/// An error of a request as a sentence, without the URL, which may hold a secret.
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
        "gave no proper answer"
    };
    format!("{host} {what}: {told}")
}
