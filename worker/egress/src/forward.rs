//! Forwarding for clients without proxy support: an address inside the sandbox for each host.

use std::net::{Ipv4Addr, SocketAddr};

use shared::host::HostName;
use shared::skill::HostPattern;
use tokio::net::TcpStream;

use super::destination::Destination;
use super::host_rule::Rules;
use super::policy::Policy;
use super::tunnel::Tunnel;

/// An address inside the sandbox. Connections to it go to the host at the same port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Forward {
    pub(super) address: SocketAddr,
    pub(super) host: HostName,
}

impl Forward {
    /// Returns a forward for each port of each host with an exact name.
    pub(super) fn all(rules: &Rules) -> Vec<Self> {
        let Rules::Hosts(rules) = rules else {
            return Vec::new();
        };
        let mut hosts: Vec<&HostName> = Vec::new();
        let mut forwards: Vec<Self> = Vec::new();
        for rule in rules {
            let HostPattern::Exact(host) = &rule.host else {
                continue;
            };
            let index = hosts.iter().position(|known| *known == host);
            let index = index.unwrap_or_else(|| {
                hosts.push(host);
                hosts.len() - 1
            });
            let last = u8::try_from(index + 1).expect("a job has fewer hosts than that");
            for port in rule.ports.as_slice() {
                let forward = Self {
                    address: (Ipv4Addr::new(127, 0, 1, last), *port).into(),
                    host: host.clone(),
                };
                if !forwards.contains(&forward) {
                    forwards.push(forward);
                }
            }
        }
        forwards
    }

    /// Serves one connection.
    pub(super) async fn serve(&self, policy: &Policy, client: TcpStream) {
        let port = self.address.port();
        // Such a client receives no error message, only a closed connection.
        let host = Destination::Name(self.host.clone());
        if let Ok(server) = policy.connect(&host, port).await {
            let tunnel = Tunnel {
                client,
                server,
                host,
                port,
                early: Vec::new(),
            };
            tunnel.run(policy).await;
        }
    }
}

/// Returns the lines of `/etc/hosts` for these forwards.
pub(super) fn hosts_lines(forwards: &[Forward]) -> String {
    let mut lines: Vec<String> = forwards
        .iter()
        .map(|forward| format!("{} {}\n", forward.address.ip(), forward.host))
        .collect();
    lines.dedup();
    lines.concat()
}
