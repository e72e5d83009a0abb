//! The host that a client of the proxy requests, by name or by address.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use shared::host::{HostError, HostName};

/// The host of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Destination {
    Name(HostName),
    /// An address, written as `10.0.0.1` or `[fd00::1]` and in no other notation. Only networks that the operator
    /// opened can be reached by address.
    Address(IpAddr),
}

impl Destination {
    /// Parses a name or an address without a port.
    pub(super) fn parse(text: &str) -> Result<Self, HostError> {
        match HostName::parse(text) {
            Ok(name) => Ok(Self::Name(name)),
            Err(HostError::Address) => address(text).map(Self::Address).ok_or(HostError::Address),
            Err(error) => Err(error),
        }
    }

    /// Parses `host` or `host:port`.
    pub(super) fn parse_with_port(text: &str) -> Result<(Self, Option<u16>), HostError> {
        match HostName::parse_with_port(text) {
            Ok((name, port)) => Ok((Self::Name(name), port)),
            Err(HostError::Address) => {
                let (host, port) = match text.rsplit_once(':') {
                    Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
                    _ => (text, None),
                };
                // Ports are parsed in the same way as after a name.
                let port = match port {
                    Some(port) => HostName::parse_with_port(&format!("port:{port}"))?.1,
                    None => None,
                };
                let address = address(host).ok_or(HostError::Address)?;
                Ok((Self::Address(address), port))
            }
            Err(error) => Err(error),
        }
    }
}

/// Parses an address in its usual notation. Programs disagree about other notations.
fn address(text: &str) -> Option<IpAddr> {
    match text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        Some(text) => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(name) => name.fmt(f),
            Self::Address(IpAddr::V4(address)) => address.fmt(f),
            Self::Address(IpAddr::V6(address)) => write!(f, "[{address}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_its_usual_notation_only() {
        let read = |text: &str| {
            let read = Destination::parse_with_port(text);
            read.map(|(host, port)| format!("{host} {port:?}"))
        };
        for (text, expected) in [
            ("10.0.0.1", "10.0.0.1 None"),
            ("10.0.0.1:8080", "10.0.0.1 Some(8080)"),
            ("[fd00::1]:8080", "[fd00::1] Some(8080)"),
            ("[FD00:0::1]", "[fd00::1] None"),
            ("Wiki.example.:8080", "wiki.example Some(8080)"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
        }
        for text in [
            "10.1",
            "167772161",
            "0xa.0.0.1",
            "010.0.0.1",
            "10.0.0.1.",
            "fd00::1",
            "[10.0.0.1]",
            "10.0.0.1:0",
            "10.0.0.1:080",
            "10.0.0.1:",
            "[fd00::1%1]",
            "10.0.0.1:80:80",
            "[fd00::1",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
