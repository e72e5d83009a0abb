//! The egress policy of one job: rules, addresses and limits.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shared::host::{HostError, HostName};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::destination::Destination;
use super::host_rule::Rules;
use shared::address::{self, AddressPolicy};

/// The maximum number of addresses of a name that are tried. A name usually has one or two of each kind.
const MAX_ADDRESSES: usize = 4;
/// The maximum number of concurrent lookups of a job; further ones wait. Each occupies a thread that all jobs share
/// until DNS answers.
const MAX_LOOKUPS: usize = 8;
/// The maximum number of refused destinations that are recorded and reported.
const MAX_REFUSED: usize = 20;

/// The function that looks up a name. It blocks.
pub(super) type Resolve = dyn Fn(&HostName, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// The limits of a job's connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProxyLimits {
    /// The maximum number of concurrent connections. Further ones wait until one ends.
    pub(super) connections: usize,
    /// The time after which a connection without traffic is closed.
    pub(super) idle: Duration,
    /// The time after which a client that has not named its destination is disconnected.
    pub(super) greeting: Duration,
    /// The timeout of a lookup, and of a connection attempt to one address.
    pub(super) connect: Duration,
}

impl ProxyLimits {
    pub(super) const DEFAULT: Self = Self {
        connections: 64,
        idle: Duration::from_secs(60),
        greeting: Duration::from_secs(10),
        connect: Duration::from_secs(10),
    };
}

/// The policy for the connections of one job, which also opens them.
pub(super) struct Policy {
    pub(super) rules: Rules,
    pub(super) limits: ProxyLimits,
    addresses: AddressPolicy,
    resolve: Arc<Resolve>,
    lookups: Arc<Semaphore>,
    refused: Mutex<Vec<String>>,
}

/// The reason why there is no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// No rule permits the host.
    NotAllowed,
    /// The host was given as an address in a network that is closed to jobs.
    Address,
    /// The addresses of the host belong to a network that is closed to jobs. The value is that network if it is
    /// private.
    NotPublic(Option<&'static str>),
    /// The host has no address.
    Unknown,
    /// Nothing listens at the destination.
    Unreachable,
    /// The host or the lookup took too long.
    TimedOut,
}

impl Policy {
    pub(super) fn new(
        rules: Rules,
        addresses: AddressPolicy,
        resolve: Arc<Resolve>,
        limits: ProxyLimits,
    ) -> Self {
        Self {
            rules,
            limits,
            addresses,
            resolve,
            lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)),
            refused: Mutex::default(),
        }
    }

    /// Opens a connection, if it is permitted.
    pub(super) async fn connect(&self, host: &Destination, port: u16) -> Result<TcpStream, Denied> {
        let opened = self.try_connect(host, port).await;
        if let Err(denied) = &opened {
            tracing::debug!(%host, port, ?denied, "no connection");
        }
        opened
    }

    async fn try_connect(&self, host: &Destination, port: u16) -> Result<TcpStream, Denied> {
        let mut denied = Denied::Unreachable;
        // The connection goes to an address that was checked, without a second lookup.
        for address in self.permitted(host, port).await? {
            match timeout(self.limits.connect, TcpStream::connect(address)).await {
                Ok(Ok(server)) => {
                    // Both ends decide when to send, so the proxy adds no delay.
                    let _ = server.set_nodelay(true);
                    return Ok(server);
                }
                Ok(Err(error)) => {
                    tracing::debug!(%host, %address, %error, "an address refused");
                    denied = Denied::Unreachable;
                }
                Err(_) => denied = Denied::TimedOut,
            }
        }
        Err(denied)
    }

    /// Returns the addresses of a host that may be connected to, at least one.
    async fn permitted(&self, host: &Destination, port: u16) -> Result<Vec<SocketAddr>, Denied> {
        let is_public = self.rules == Rules::Public;
        match host {
            // Only a job with public access may use an address, and only in networks that the operator opened.
            Destination::Address(address) if is_public && self.addresses.opens(*address) => {
                Ok(vec![SocketAddr::new(*address, port)])
            }
            Destination::Address(address) => {
                let denied = match address::private_network(*address) {
                    Some(network) if is_public => Denied::NotPublic(Some(network)),
                    _ => Denied::Address,
                };
                self.refuse(host, port, denied)
            }
            Destination::Name(name) => {
                // Checked before the lookup, because a DNS query is itself a message to the server that answers it.
                let is_named = self.rules.permit(name, port);
                if !(is_named || is_public && self.addresses.has_opened()) {
                    return self.refuse(host, port, Denied::NotAllowed);
                }
                let found = self.look_up(name, port).await?;
                let Some(first) = found.first().map(SocketAddr::ip) else {
                    return Err(Denied::Unknown);
                };
                let mut permitted = found;
                // On ports other than those of the web, only opened networks can be reached.
                permitted.retain(|address| match is_named {
                    true => self.addresses.permits(address.ip()),
                    false => self.addresses.opens(address.ip()),
                });
                permitted.truncate(MAX_ADDRESSES);
                match permitted.is_empty() {
                    false => Ok(permitted),
                    true if !self.addresses.permits(first) => {
                        let network = address::private_network(first);
                        self.refuse(host, port, Denied::NotPublic(network))
                    }
                    true => self.refuse(host, port, Denied::NotAllowed),
                }
            }
        }
    }

    fn refuse<T>(&self, host: &Destination, port: u16, denied: Denied) -> Result<T, Denied> {
        let why = match denied {
            Denied::NotPublic(network) => {
                format!(" (its address is not public{})", remedy(network))
            }
            _ => String::new(),
        };
        self.note_refused(format!("{host}:{port}{why}"));
        Err(denied)
    }

    async fn look_up(&self, host: &HostName, port: u16) -> Result<Vec<SocketAddr>, Denied> {
        let asking = async {
            let turn = self.lookups.clone().acquire_owned().await;
            let (resolve, asked) = (self.resolve.clone(), host.clone());
            let look_up = move || {
                // Held until the thread is free again, even if nobody waits for the result any more.
                let _turn = turn;
                resolve(&asked, port)
            };
            tokio::task::spawn_blocking(look_up).await
        };
        match timeout(self.limits.connect, asking).await {
            Ok(Ok(Ok(found))) => Ok(found),
            Ok(Ok(Err(error))) => {
                tracing::debug!(%host, %error, "the look-up failed");
                Err(Denied::Unknown)
            }
            // The process is ending.
            Ok(Err(_)) => Err(Denied::Unknown),
            Err(_) => Err(Denied::TimedOut),
        }
    }

    /// Records a destination that was refused.
    pub(super) fn note_refused(&self, place: String) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MAX_REFUSED && !refused.contains(&place) {
            refused.push(place);
        }
    }

    /// Returns the destinations that were refused since the last call.
    pub(super) fn take_refused(&self) -> Vec<String> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the message for a client without a connection: the reason, and the allowed destinations.
    pub(super) fn explain(&self, denied: Denied, host: &Destination, port: u16) -> String {
        match denied {
            Denied::NotAllowed => {
                format!("{host}:{port} is refused. {}", self.allowed())
            }
            Denied::Address => {
                format!(
                    "{host}:{port} is refused: {}. {}",
                    HostError::Address,
                    self.allowed()
                )
            }
            Denied::NotPublic(network) => {
                let remedy = remedy(network);
                format!("{host}:{port} is refused: its address is not public{remedy}.")
            }
            Denied::Unknown => format!("{host} cannot be resolved."),
            Denied::Unreachable => format!("{host}:{port} cannot be reached."),
            Denied::TimedOut => format!("{host}:{port} did not answer in time."),
        }
    }

    /// Returns a sentence about the allowed destinations.
    pub(super) fn allowed(&self) -> String {
        format!("This job may reach {}.", self.reach())
    }

    /// Returns a description of the reachable hosts, for people.
    pub(super) fn reach(&self) -> String {
        match self.rules {
            Rules::Public if self.addresses.has_opened() => {
                let opened = self.addresses.to_string();
                format!("{}, and hosts in {opened} on any port", self.rules)
            }
            _ => self.rules.to_string(),
        }
    }
}

/// Returns the setting that opens a private network, as the end of a message.
fn remedy(network: Option<&str>) -> String {
    match network {
        Some(network) => {
            format!("; the operator can allow it with --egress-allow {network}")
        }
        None => String::new(),
    }
}

/// Escapes and shortens a text from a client, for people and logs.
pub(super) fn printable(text: &[u8]) -> String {
    const SHOWN: usize = 100;
    text.iter()
        .take(SHOWN)
        .flat_map(|byte| byte.escape_ascii())
        .map(char::from)
        .collect()
}
