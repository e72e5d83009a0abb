//! Header fields of a proxy request.

use std::str;

use crate::destination::Destination;
use httparse::Header;

use super::BodyFraming;
use super::ProxyRequestError::{self, Malformed};

/// Headers that concern the connection to the proxy and not the one to the host.
const HOP_BY_HOP: [&str; 6] = [
    "connection",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "upgrade",
];
/// Headers that a client cannot remove by listing them in `Connection`.
const ESSENTIAL: [&str; 3] = ["content-length", "host", "transfer-encoding"];

/// The headers of a request that matter here.
pub(super) struct Fields<'a> {
    host: Option<&'a str>,
    pub(super) body: BodyFraming,
    /// The headers for the host.
    kept: Vec<&'a Header<'a>>,
}

impl<'a> Fields<'a> {
    pub(super) fn read(headers: &'a [Header<'a>], version: u8) -> Result<Self, ProxyRequestError> {
        let nominated = nominated(headers)?;
        let strip = |name: &str| {
            let name = name.to_ascii_lowercase();
            HOP_BY_HOP.contains(&name.as_str())
                || name.starts_with("proxy-")
                || nominated.contains(&name)
        };
        Ok(Self {
            host: only(headers, "host")?,
            body: body(headers, version)?,
            kept: headers
                .iter()
                .filter(|header| !strip(header.name))
                .collect(),
        })
    }

    /// Checks that the `Host` header names the host of the connection.
    pub(super) fn check_host(
        &self,
        host: &Destination,
        port: u16,
    ) -> Result<(), ProxyRequestError> {
        let Some(said) = self.host else {
            return Ok(());
        };
        match Destination::parse_with_port(said) {
            Ok((name, said)) if name == *host && said.unwrap_or(port) == port => Ok(()),
            _ => Err(Malformed("its Host header differs from its target")),
        }
    }

    /// Returns the head for the host. It asks to close the connection, so that no further request follows.
    pub(super) fn rewritten(&self, line: String, host: &Destination, port: u16) -> Vec<u8> {
        let mut head = line.into_bytes();
        let place = match port {
            80 => format!("host: {host}\r\n"),
            _ => format!("host: {host}:{port}\r\n"),
        };
        head.extend_from_slice(place.as_bytes());
        for header in &self.kept {
            head.extend_from_slice(header.name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(header.value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(b"connection: close\r\n\r\n");
        head
    }
}

/// Returns the names that `Connection` lists, in lower case. These headers are for this connection only.
fn nominated(headers: &[Header<'_>]) -> Result<Vec<String>, ProxyRequestError> {
    let names: Vec<String> = all(headers, "connection")
        .flat_map(|value| value.split(|byte| *byte == b','))
        .map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase())
        .collect();
    if names.iter().any(|name| ESSENTIAL.contains(&name.as_str())) {
        return Err(Malformed("its Connection header names an essential header"));
    }
    Ok(names)
}

/// Returns how the body ends, if that is unambiguous.
fn body(headers: &[Header<'_>], version: u8) -> Result<BodyFraming, ProxyRequestError> {
    let length = only(headers, "content-length")?;
    let coding = only(headers, "transfer-encoding")?;
    match (length, coding) {
        (None, None) => Ok(BodyFraming::Sized(0)),
        (Some(length), None) if length.bytes().all(|byte| byte.is_ascii_digit()) => length
            .parse()
            .map(BodyFraming::Sized)
            .map_err(|_| Malformed("its Content-Length is not a number")),
        (Some(_), None) => Err(Malformed("its Content-Length is not a number")),
        (None, Some(coding)) if version == 1 && coding.eq_ignore_ascii_case("chunked") => {
            Ok(BodyFraming::Chunked)
        }
        (None, Some(_)) => Err(Malformed("its Transfer-Encoding is not chunked")),
        (Some(_), Some(_)) => Err(Malformed(
            "it has both Content-Length and Transfer-Encoding",
        )),
    }
}

/// Returns the value of a header that may occur only once.
fn only<'a>(headers: &'a [Header<'a>], name: &str) -> Result<Option<&'a str>, ProxyRequestError> {
    let mut values = all(headers, name);
    let value = values.next();
    if values.next().is_some() {
        return Err(Malformed("it has an essential header twice"));
    }
    value
        .map(str::from_utf8)
        .transpose()
        .map_err(|_| Malformed("an essential header is not text"))
}

fn all<'a>(headers: &'a [Header<'a>], name: &str) -> impl Iterator<Item = &'a [u8]> {
    headers
        .iter()
        .filter(move |header| header.name.eq_ignore_ascii_case(name))
        .map(|header| header.value)
}
