//! The policy of one job: rules, addresses and limits.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shared::host::HostName;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::host_rule::Rules;
use shared::address::AddressPolicy;

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
    /// Its addresses belong to a network that is closed to jobs.
    NotPublic,
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
    pub(super) async fn connect(&self, host: &HostName, port: u16) -> Result<TcpStream, Denied> {
        let opened = self.try_connect(host, port).await;
        if let Err(denied) = &opened {
            tracing::debug!(%host, port, ?denied, "no connection");
        }
        opened
    }

    async fn try_connect(&self, host: &HostName, port: u16) -> Result<TcpStream, Denied> {
        // Before the look-up: a DNS query is a message to the server that answers it.
        if !self.rules.permit(host, port) {
            self.note_refused(format!("{host}:{port}"));
            return Err(Denied::NotAllowed);
        }
        let found = self.look_up(host, port).await?;
        if found.is_empty() {
            return Err(Denied::Unknown);
        }
        let mut permitted = found;
        permitted.retain(|address| self.addresses.permits(address.ip()));
        permitted.truncate(MAX_ADDRESSES);
        if permitted.is_empty() {
            self.note_refused(format!("{host}:{port} (its address is not public)"));
            return Err(Denied::NotPublic);
        }
        // The connection goes to an address that was judged, without a second look-up.
        let mut denied = Denied::Unreachable;
        for address in permitted {
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
    pub(super) fn explain(&self, denied: Denied, host: &HostName, port: u16) -> String {
        match denied {
            Denied::NotAllowed => {
                format!("{host}:{port} is refused. {}", self.allowed())
            }
            Denied::NotPublic => format!("{host}:{port} is refused: its address is not public."),
            Denied::Unknown => format!("{host} is not known: it has no address."),
            Denied::Unreachable => format!("{host}:{port} cannot be reached."),
            Denied::TimedOut => format!("{host}:{port} did not answer in time."),
        }
    }

    /// A sentence on what is allowed.
    pub(super) fn allowed(&self) -> String {
        format!("This job may reach {}.", self.rules)
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
