//! Tests of egress over real sockets: a client, the proxy, and a server.

mod connect;
mod forward;
mod hostile;
mod http;
mod limits;
mod socks;

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Map;
use shared::host::HostName;
use shared::skill::Network;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::policy::{Policy, ProxyLimits, Resolve};
use super::{Egress, source};
use shared::address::AddressPolicy;

/// The timeout for anything that is expected to happen.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The names that resolve in a test, with their addresses.
#[derive(Clone, Default)]
struct Names(HashMap<String, Vec<SocketAddr>>);

impl Names {
    fn with(mut self, name: &str, addresses: &[SocketAddr]) -> Self {
        self.0.insert(name.to_owned(), addresses.to_vec());
        self
    }
}

/// The egress of a job, with its running proxy. Dropping it ends the proxy.
struct RunningEgress {
    egress: Arc<Egress>,
    /// The addresses of the proxy, in the order of its listeners.
    addresses: Vec<SocketAddr>,
    lookups: Arc<Mutex<Vec<String>>>,
    serving: JoinSet<()>,
}

impl RunningEgress {
    /// Opens the egress of a job with this declaration. The operator opened 127.0.0.0/8.
    fn open(words: &str, names: Names) -> Self {
        Self::with_limits(words, names, ProxyLimits::DEFAULT)
    }

    fn with_limits(words: &str, names: Names, limits: ProxyLimits) -> Self {
        let look_up = move |host: &HostName, _| {
            let found = names.0.get(host.as_str()).cloned();
            found.ok_or(io::ErrorKind::NotFound.into())
        };
        Self::with_resolver(words, limits, look_up)
    }

    fn with_resolver(
        words: &str,
        limits: ProxyLimits,
        look_up: impl Fn(&HostName, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Self {
        let network = Network::parse(words.split(' ')).unwrap();
        let rules = source::rules(&network, &Map::new(), |_| None).unwrap();
        let lookups: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = lookups.clone();
        let resolve: Arc<Resolve> = Arc::new(move |host, port| {
            seen.lock().unwrap().push(format!("{host}:{port}"));
            look_up(host, port)
        });
        let opened = AddressPolicy::new(Arc::new(["127.0.0.0/8".parse().unwrap()]));
        let policy = Policy::new(rules.unwrap(), opened, resolve, limits);
        let egress = Arc::new(Egress::with_policy(policy));
        let listeners: Vec<StdListener> = egress
            .listeners()
            .iter()
            .map(|_| StdListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap())
            .collect();
        let addresses = listeners
            .iter()
            .map(|listener| listener.local_addr().unwrap())
            .collect();
        let mut serving = JoinSet::new();
        let served = egress.clone();
        serving.spawn(async move { served.serve(listeners).await });
        Self {
            egress,
            addresses,
            lookups,
            serving,
        }
    }

    /// A connection to the proxy.
    async fn proxy(&self) -> TcpStream {
        self.entrance(0).await
    }

    async fn entrance(&self, index: usize) -> TcpStream {
        TcpStream::connect(self.addresses[index]).await.unwrap()
    }

    /// Sends bytes to the proxy, ends the sending side, and reads the complete answer.
    async fn answer(&self, said: &[u8]) -> String {
        let mut client = self.proxy().await;
        client.write_all(said).await.unwrap();
        client.shutdown().await.unwrap();
        String::from_utf8_lossy(&read_all(&mut client).await).into_owned()
    }

    fn lookups(&self) -> Vec<String> {
        self.lookups.lock().unwrap().clone()
    }
}

/// Reads until the other side ends in any way.
async fn read_all(stream: &mut TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let reading = stream.read_to_end(&mut bytes);
    let _ = timeout(TIMEOUT, reading).await.expect("it must end");
    bytes
}

/// Reads the head of an answer.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let byte = timeout(TIMEOUT, stream.read_u8()).await.unwrap();
        bytes.push(byte.expect("the head must be whole"));
    }
    String::from_utf8(bytes).unwrap()
}

/// A server that reads until the client ends, records what it read, and sends it back.
struct Echo {
    address: SocketAddr,
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
    _serving: JoinSet<()>,
}

impl Echo {
    async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let mut serving = JoinSet::new();
        let keep = heard.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = listener.accept().await {
                let keep = keep.clone();
                connections.spawn(async move {
                    let mut bytes = Vec::new();
                    let _ = client.read_to_end(&mut bytes).await;
                    keep.lock().unwrap().push(bytes.clone());
                    let _ = client.write_all(&bytes).await;
                });
            }
        });
        Self {
            address,
            heard,
            _serving: serving,
        }
    }

    fn names(&self, name: &str) -> Names {
        Names::default().with(name, &[self.address])
    }

    fn heard(&self) -> Vec<Vec<u8>> {
        self.heard.lock().unwrap().clone()
    }
}

/// Returns an address without a listener.
fn closed_port() -> SocketAddr {
    let listener = StdListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    listener.local_addr().unwrap()
}
