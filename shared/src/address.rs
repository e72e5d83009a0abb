//! The address policy: public addresses, and private networks that the operator opened.

use std::error::Error;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, ClientBuilder, Url};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why a URL is not permitted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// The URL is malformed or has no host.
    #[error("it is not an http or https URL")]
    NotHttp,
    /// The scheme is neither `http` nor `https`.
    #[error("the scheme `{0}` is neither http nor https")]
    Scheme(String),
    /// The address is private, and the operator did not open its network.
    #[error("its address is not public")]
    NotPublic,
}

impl AddressError {
    /// Returns the refusal of the policy if it is one of the causes of a client error.
    pub fn of(error: &reqwest::Error) -> Option<&Self> {
        let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
        causes.find_map(|cause| cause.downcast_ref())
    }
}

/// The policy for outgoing connections. Permits public addresses and networks that the operator opened.
#[derive(Clone, Default)]
pub struct AddressPolicy {
    opened: Arc<[IpNet]>,
    only_opened: bool,
}

impl AddressPolicy {
    /// Creates a policy that also permits the private networks in `opened`.
    pub fn new(opened: Arc<[IpNet]>) -> Self {
        Self {
            opened,
            only_opened: false,
        }
    }

    /// Returns the same policy without public addresses.
    pub fn only_opened(&self) -> Self {
        Self {
            opened: self.opened.clone(),
            only_opened: true,
        }
    }

    /// Whether the policy permits connections to the address.
    pub fn permits(&self, address: IpAddr) -> bool {
        self.opens(address) || (!self.only_opened && is_public(address))
    }

    /// Whether the address belongs to a network that the operator opened.
    pub fn opens(&self, address: IpAddr) -> bool {
        self.opened.iter().any(|network| network.contains(&address))
    }

    /// Whether the operator opened any network.
    pub fn has_opened(&self) -> bool {
        !self.opened.is_empty()
    }

    /// Returns a client builder that resolves names under the policy. The caller must check each URL with
    /// [`Self::permits_url`], because the host of a URL can be an address.
    pub fn client(&self) -> ClientBuilder {
        Client::builder()
            .user_agent(concat!("skillet/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            // A proxy would resolve names outside the policy.
            .no_proxy()
            .dns_resolver(self.clone())
    }

    /// Checks the scheme of a URL, and its host if the host is an address. Names are checked when they are resolved.
    pub fn permits_url(&self, url: &Url) -> Result<(), AddressError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(AddressError::Scheme(url.scheme().to_owned()));
        }
        let host = url.host_str().ok_or(AddressError::NotHttp)?;
        match host.trim_matches(['[', ']']).parse::<IpAddr>() {
            Ok(address) if !self.permits(address) => Err(AddressError::NotPublic),
            _ => Ok(()),
        }
    }
}

/// Lists the networks that the operator opened.
impl fmt::Display for AddressPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let opened: Vec<_> = self.opened.iter().map(IpNet::to_string).collect();
        f.write_str(&opened.join(", "))
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
                return Err(AddressError::NotPublic.into());
            }
            // The client connects to one of these addresses and does not resolve the name again.
            Ok(Box::new(permitted.into_iter()) as Addrs)
        })
    }
}

/// The private network of an address, in the notation that an operator uses to open it. Returns `None` if the address
/// is in no private network, or in a network that should stay closed, such as link-local (cloud metadata). Jobs do not
/// learn the address itself.
pub fn private_network(address: IpAddr) -> Option<&'static str> {
    let networks = [
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "fc00::/7",
        "::1/128",
    ];
    let contains = |network: &&str| {
        let network: IpNet = network.parse().expect("these are networks");
        network.contains(&address)
    };
    networks.into_iter().find(contains)
}

/// Whether the address belongs to the public Internet, according to IANA's special-purpose address registries.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match embedded_v4(address) {
            Some(embedded) => is_public_v4(embedded),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_documentation()
        || a == 0
        // Shared address space (RFC 6598), protocol assignments, benchmarking, 6to4 relays, reserved.
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b == 18 || b == 19))
        || (a == 192 && b == 88 && c == 99)
        || a >= 240;
    !special
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Global unicast is 2000::/3. Protocol assignments and documentation prefixes within it are not public.
    (first & 0xe000) == 0x2000
        && !(first == 0x2001 && second < 0x0200)
        && !(first == 0x2001 && second == 0x0db8)
        && !(first == 0x3fff && second < 0x1000)
}

/// The IPv4 address that is embedded in a v4-mapped, NAT64 or 6to4 address.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let segments = address.segments();
    let from = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match segments {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(from(high, low))
        }
        [0x2002, high, low, ..] => Some(from(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_public_internet_is_public() {
        let public = [
            "1.1.1.1",
            "93.184.216.34",
            "2606:4700::1111",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
        ];
        let special = [
            "0.0.0.0",
            "10.0.0.1",
            "100.64.0.1",
            "127.0.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "192.168.1.1",
            "198.18.0.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "::ffff:127.0.0.1",
            "::ffff:169.254.169.254",
            "64:ff9b::7f00:1",
            "2002:7f00:1::",
            "::127.0.0.1",
        ];
        for address in public {
            assert!(is_public(address.parse().unwrap()), "{address}");
        }
        for address in special {
            assert!(!is_public(address.parse().unwrap()), "{address}");
        }
    }

    #[test]
    fn of_opened_networks_only_no_public_address_is_permitted() {
        let policy = AddressPolicy::new(Arc::new(["10.1.0.0/16".parse().unwrap()])).only_opened();
        let permits = |address: &str| policy.permits(address.parse().unwrap());
        assert!(permits("10.1.2.3") && !permits("1.1.1.1") && !permits("10.2.0.1"));
    }

    #[test]
    fn what_the_operator_opened_is_permitted_and_its_neighbours_are_not() {
        let policy = AddressPolicy::new(Arc::new(["10.1.0.0/16".parse().unwrap()]));
        let permits = |address: &str| policy.permits(address.parse().unwrap());
        assert!(permits("10.1.2.3") && permits("1.1.1.1"));
        assert!(!permits("10.2.0.1") && !permits("::ffff:10.1.2.3") && !permits("127.0.0.1"));
    }
}
