//! The hosts that the tools of a job may request.

use reqwest::Url;
use shared::host::HostName;
use shared::skill::Network;

use crate::context::ToolContext;
use shared::address::AddressError;
use worker_egress::Egress;
use worker_egress::net::{WebClient, not_public};

/// The hosts that the requests of one job may reach.
pub(super) struct Reach<'a> {
    pub(super) client: &'a WebClient,
    hosts: Hosts<'a>,
}

enum Hosts<'a> {
    /// Any host that is public or in a network that the operator allows. The skill names no hosts.
    Public,
    /// The hosts that the skill names. There may be none for this job.
    Declared(Option<&'a Egress>),
}

impl<'a> Reach<'a> {
    pub(super) fn of(context: &'a ToolContext<'_>) -> Self {
        let hosts = match context.network {
            Network::Hosts(_) => Hosts::Declared(context.egress.map(|egress| &**egress)),
            Network::None | Network::Public => Hosts::Public,
        };
        Self {
            client: &context.web.tools,
            hosts,
        }
    }

    /// Whether only hosts that the skill names may be reached.
    pub(super) fn is_declared(&self) -> bool {
        matches!(self.hosts, Hosts::Declared(_))
    }

    /// Parses a URL that may be requested. An error is for the model.
    pub(super) fn parse(&self, text: &str) -> Result<Url, String> {
        let url =
            Url::parse(text.trim()).map_err(|error| format!("the URL is invalid: {error}"))?;
        self.check(&url)?;
        Ok(url)
    }

    /// Checks a URL, which comes from the model or from a redirect.
    pub(super) fn check(&self, url: &Url) -> Result<(), String> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(
                "a URL with credentials in it is refused: remove the part before the @".to_owned(),
            );
        }
        let host = url.host_str().unwrap_or_default();
        self.client.check(url).map_err(|error| match error {
            AddressError::NotPublic => not_public(host),
            _ => "the URL must begin with http:// or https://".to_owned(),
        })?;
        let Hosts::Declared(egress) = &self.hosts else {
            return Ok(());
        };
        let port = url.port_or_known_default().unwrap_or_default();
        let name = HostName::parse(host).ok();
        let permits = |egress: &&Egress| name.is_some_and(|name| egress.permits(&name, port));
        if egress.as_ref().is_some_and(permits) {
            return Ok(());
        }
        let allowed = egress.map_or_else(|| "no host".to_owned(), Egress::allowed);
        Err(format!(
            "{host}:{port} is refused. This job may reach {allowed}"
        ))
    }
}
