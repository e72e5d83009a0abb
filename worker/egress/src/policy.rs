//! The policy of one job: rules, addresses and limits.

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

/// Addresses of a name that are tried; a name has one or two of each kind as a rule.
const MAX_ADDRESSES: usize = 4;
/// Look-ups of a job at once; the others wait. Each takes a thread of all jobs for as long as DNS does.
const MAX_LOOKUPS: usize = 8;
/// Refused places that are remembered and reported.
const MAX_REFUSED: usize = 20;

/// How a name is looked up. It blocks.
pub(super) type Resolve = dyn Fn(&HostName, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// The limits of a job's connections.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProxyLimits {
    /// Connections at once; more wait until one ends.
    pub(super) connections: usize,
    /// A connection that carries no byte for so long is cut.
    pub(super) idle: Duration,
    /// A client that has not said by then where it wants to go is cut off.
    pub(super) greeting: Duration,
    /// When a look-up, and when the attempt at one address, is given up.
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

/// Decides where the connections of one job go, and opens them.
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
    /// No rule names it.
    NotAllowed,
    /// It was named by an address of a network that is closed to jobs.
    Address,
    /// Its addresses belong to a network that is closed to jobs. Of private networks it is said which that is.
    NotPublic(Option<&'static str>),
    /// It has no address.
    Unknown,
    /// Nobody listens there.
    Unreachable,
    /// It, or the look-up, took too long.
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

    /// Opens a connection, if it may be.
    pub(super) async fn connect(&self, host: &Destination, port: u16) -> Result<TcpStream, Denied> {
        let opened = self.try_connect(host, port).await;
        if let Err(denied) = &opened {
            tracing::debug!(%host, port, ?denied, "no connection");
        }
        opened
    }

    async fn try_connect(&self, host: &Destination, port: u16) -> Result<TcpStream, Denied> {
        let mut denied = Denied::Unreachable;
        // The connection goes to an address that was judged, without a second look-up.
        for address in self.permitted(host, port).await? {
            match timeout(self.limits.connect, TcpStream::connect(address)).await {
                Ok(Ok(server)) => {
                    // Both ends decide by themselves what to send when.
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

    /// The addresses of a host that may be connected to; at least one.
    async fn permitted(&self, host: &Destination, port: u16) -> Result<Vec<SocketAddr>, Denied> {
        let is_public = self.rules == Rules::Public;
        match host {
            // Only who may go anywhere may go to an address, and only into networks that the operator opened.
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
                // Before the look-up: a DNS query is a message to the server that answers it.
                let is_named = self.rules.permit(name, port);
                if !(is_named || is_public && self.addresses.has_opened()) {
                    return self.refuse(host, port, Denied::NotAllowed);
                }
                let found = self.look_up(name, port).await?;
                let Some(first) = found.first().map(SocketAddr::ip) else {
                    return Err(Denied::Unknown);
                };
                let mut permitted = found;
                // On other ports than those of the web, opened networks alone are reached.
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
                // Held until the thread is free again, also if nobody waits for the answer any more.
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

    /// Remembers a place that was refused.
    pub(super) fn note_refused(&self, place: String) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        if refused.len() < MAX_REFUSED && !refused.contains(&place) {
            refused.push(place);
        }
    }

    /// The places that were refused since the last call.
    pub(super) fn take_refused(&self) -> Vec<String> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Tells a client why it has no connection, and where it could have one.
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
            Denied::Unknown => format!("{host} is not known: it has no address."),
            Denied::Unreachable => format!("{host}:{port} cannot be reached."),
            Denied::TimedOut => format!("{host}:{port} did not answer in time."),
        }
    }

    /// A sentence on what is allowed.
    pub(super) fn allowed(&self) -> String {
        format!("This job may reach {}.", self.reach())
    }

    /// What may be reached, for people.
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

/// The setting that opens a private network.
fn remedy(network: Option<&str>) -> String {
    match network {
        Some(network) => {
            format!(
                ", and is refused unless the operator starts the worker with --egress-allow {network}"
            )
        }
        None => String::new(),
    }
}

/// What a client named, fit for people and logs whatever it is.
pub(super) fn printable(text: &[u8]) -> String {
    const SHOWN: usize = 100;
    text.iter()
        .take(SHOWN)
        .flat_map(|byte| byte.escape_ascii())
        .map(char::from)
        .collect()
}
