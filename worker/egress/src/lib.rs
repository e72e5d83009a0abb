//! The network access of a sandbox: a proxy, served through sockets that listen inside it.
//!
//! A sandbox has its own network, in which only this process answers. A set of listeners belongs to one command of one
//! job, so the listener determines what a connection can reach. Each connection names a host. The name is checked
//! before it is resolved, and the resulting address is checked as well.

mod destination;
mod forward;
mod host_rule;
mod http;
pub mod net;
mod policy;
mod relay;
mod request;
mod sni;
mod socks;
mod source;
#[cfg(test)]
mod tests;
mod tunnel;

use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use ipnet::IpNet;
use serde_json::{Map, Value};
use shared::host::HostName;
use shared::skill::Network;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use forward::Forward;
use policy::{Policy, ProxyLimits};
use shared::address::AddressPolicy;

pub use source::EgressError;

/// The port of the proxy inside a sandbox.
const PROXY_PORT: u16 = 3128;
/// The pause after a connection could not be accepted because this process has too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The hosts that the commands of one job can reach.
pub struct Egress {
    policy: Arc<Policy>,
    forwards: Vec<Forward>,
}

impl Egress {
    /// Creates the network access that a skill declares for a job, or `None` if it declares none. `allowed` are
    /// private networks that the operator opened. A job that can reach the public web can reach all of them, too.
    pub fn new(
        network: &Network,
        parameters: &Map<String, Value>,
        secret: impl Fn(&str) -> Option<String>,
        allowed: Arc<[IpNet]>,
    ) -> Result<Option<Self>, EgressError> {
        let Some(rules) = source::rules(network, parameters, secret)? else {
            return Ok(None);
        };
        let policy = Policy::new(
            rules,
            AddressPolicy::new(allowed),
            Arc::new(|host, port| Ok((host.as_str(), port).to_socket_addrs()?.collect())),
            ProxyLimits::DEFAULT,
        );
        Ok(Some(Self::with_policy(policy)))
    }

    fn with_policy(policy: Policy) -> Self {
        Self {
            forwards: Forward::all(&policy.rules),
            policy: Arc::new(policy),
        }
    }

    /// Configures a command to use the proxy, which `serve` runs.
    pub fn lead(&self, command: &mut worker_sandbox::SandboxCommand<'_>) {
        command.environment.extend(self.environment());
        command.listeners = self.listeners();
        command.hosts = self.hosts();
    }

    /// The addresses inside the sandbox on which to listen, for `serve`.
    fn listeners(&self) -> Vec<SocketAddr> {
        let proxy = SocketAddr::from((Ipv4Addr::LOCALHOST, PROXY_PORT));
        let forwards = self.forwards.iter().map(|forward| forward.address);
        std::iter::once(proxy).chain(forwards).collect()
    }

    /// The environment variables that make programs use the proxy.
    fn environment(&self) -> Vec<(String, String)> {
        let http = format!("http://127.0.0.1:{PROXY_PORT}");
        let socks = format!("socks5h://127.0.0.1:{PROXY_PORT}");
        let variables = [
            ("http_proxy", http.as_str()),
            ("https_proxy", &http),
            ("all_proxy", &socks),
            ("no_proxy", "localhost,127.0.0.1,::1"),
        ];
        variables
            .into_iter()
            .flat_map(|(name, value)| {
                [name.to_owned(), name.to_ascii_uppercase()].map(|name| (name, value.to_owned()))
            })
            .collect()
    }

    /// The lines for the sandbox's `/etc/hosts`.
    fn hosts(&self) -> String {
        forward::hosts_lines(&self.forwards)
    }

    /// Serves the sockets that listen at `listeners`, in that order. Dropping the future closes every connection.
    pub async fn serve(&self, listeners: Vec<StdListener>) {
        let places = Arc::new(Semaphore::new(self.policy.limits.connections));
        let forwards = self.forwards.iter().cloned().map(Entrance::Forward);
        let entrances = std::iter::once(Entrance::Proxy).chain(forwards);
        let accepting = listeners
            .into_iter()
            .zip(entrances)
            .map(|(listener, entrance)| {
                accept(listener, self.policy.clone(), entrance, places.clone())
            });
        join_all(accepting).await;
    }

    /// Returns the destinations that were refused since the last call, without duplicates and at most 20.
    pub fn refused(&self) -> Vec<String> {
        self.policy.take_refused()
    }

    /// Returns whether this host and port can be reached, by name.
    pub fn permits(&self, host: &HostName, port: u16) -> bool {
        self.policy.rules.permit(host, port)
    }

    /// Returns a description of the reachable hosts, for people.
    pub fn allowed(&self) -> String {
        self.policy.reach()
    }
}

/// The listener that accepted a connection.
#[derive(Clone)]
enum Entrance {
    Proxy,
    Forward(Forward),
}

impl Entrance {
    async fn serve(self, policy: Arc<Policy>, client: TcpStream) {
        // Adds no delay, like the connection to the server.
        let _ = client.set_nodelay(true);
        match self {
            Self::Forward(forward) => forward.serve(&policy, client).await,
            Self::Proxy => {
                let mut first = [0];
                match timeout(policy.limits.greeting, client.peek(&mut first)).await {
                    Ok(Ok(1)) if first == [socks::VERSION] => socks::serve(&policy, client).await,
                    Ok(Ok(1)) => http::serve(&policy, client).await,
                    // The client sent nothing or disconnected.
                    _ => {}
                }
            }
        }
    }
}

/// Serves the connections of one listener. A connection waits while the maximum number is open.
async fn accept(
    listener: StdListener,
    policy: Arc<Policy>,
    entrance: Entrance,
    places: Arc<Semaphore>,
) {
    let opened = listener
        .set_nonblocking(true)
        .and_then(|()| TcpListener::from_std(listener));
    let listener = match opened {
        Ok(listener) => listener,
        Err(error) => return tracing::warn!(%error, "a listener of a sandbox cannot be served"),
    };
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((client, _)) => {
                let place = places.clone().acquire_owned().await;
                let serving = entrance.clone().serve(policy.clone(), client);
                connections.spawn(async move {
                    serving.await;
                    drop(place);
                });
            }
            Err(error) => {
                tracing::warn!(%error, "a connection of a sandbox cannot be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
        // Removes the connections that have ended.
        while connections.try_join_next().is_some() {}
    }
}
