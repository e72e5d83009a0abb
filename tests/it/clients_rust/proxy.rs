//! A proxy between client and service that injects faults into responses.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

use crate::support::Service;

/// The way in which a response stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The body ends cleanly.
    Clean,
    /// The body ends in the middle of the chunked encoding.
    Truncated,
    /// The connection ends with a TCP reset.
    Reset,
    /// The connection stays open without data.
    Silent,
}

/// A fault in one response.
pub(super) enum Fault {
    /// The response stops after this number of bytes of its body.
    Cut(usize, Stop),
    /// The proxy sends this status, headers and body without calling the service.
    Answer(&'static str, &'static str, &'static str),
    /// A text in the body is replaced with another one of the same length.
    Replace(&'static str, &'static str),
    /// The request is handled, but its response is lost.
    LoseAnswer,
}

/// A request that matched the target of the proxy.
#[derive(Clone)]
pub(super) struct Received {
    pub(super) headers: HashMap<String, String>,
    pub(super) at: Instant,
}

struct Shared {
    service: String,
    target: &'static str,
    faults: Mutex<VecDeque<Fault>>,
    received: Mutex<Vec<Received>>,
}

/// A proxy that injects one fault each into requests whose first line contains the target. Other requests, and those
/// after the last fault, pass unchanged.
pub(super) struct Proxy {
    pub(super) url: String,
    shared: Arc<Shared>,
    _task: AbortOnDropHandle<()>,
}

impl Proxy {
    pub(super) async fn start(
        service: &Service,
        target: &'static str,
        faults: impl IntoIterator<Item = Fault>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            service: service.url.strip_prefix("http://").unwrap().to_owned(),
            target,
            faults: Mutex::new(faults.into_iter().collect()),
            received: Mutex::default(),
        });
        let task = tokio::spawn(accept(listener, shared.clone()));
        Self {
            url,
            shared,
            _task: AbortOnDropHandle::new(task),
        }
    }

    /// Returns the requests that matched the target.
    pub(super) fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap().clone()
    }

    /// Returns the number of remaining faults.
    pub(super) fn left(&self) -> usize {
        self.shared.faults.lock().unwrap().len()
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        // An error means that the client or the service closed the connection.
        connections.spawn(handle(client, shared.clone()));
    }
}

/// Handles one request.
async fn handle(client: TcpStream, shared: Arc<Shared>) -> io::Result<()> {
    let mut client = BufReader::new(client);
    let (line, headers) = read_head(&mut client).await?;
    let length = headers.get("content-length");
    let length = length.map_or(0, |text| text.parse().unwrap());
    let mut body = vec![0; length];
    client.read_exact(&mut body).await?;
    let mut client = client.into_inner();
    let mut fault = None;
    if line.contains(shared.target) {
        let (headers, at) = (headers.clone(), Instant::now());
        let received = Received { headers, at };
        shared.received.lock().unwrap().push(received);
        fault = shared.faults.lock().unwrap().pop_front();
    }
    if let Some(Fault::Answer(status, headers, body)) = fault {
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
        );
        client.write_all(head.as_bytes()).await?;
        return client.write_all(body.as_bytes()).await;
    }
    let mut service = TcpStream::connect(&shared.service).await?;
    // A body in HTTP/1.0 has no chunks, so a cut looks like a clean end.
    let is_framed = matches!(fault, Some(Fault::Cut(_, Stop::Truncated)));
    let version = if is_framed { "HTTP/1.1" } else { "HTTP/1.0" };
    let (request, _) = line.rsplit_once(' ').unwrap();
    let mut head = format!("{request} {version}\r\n");
    for (name, value) in headers.iter().filter(|(name, _)| *name != "connection") {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("connection: close\r\n\r\n");
    service.write_all(head.as_bytes()).await?;
    service.write_all(&body).await?;
    answer(client, BufReader::new(service), fault).await
}

async fn answer(
    mut client: TcpStream,
    mut service: BufReader<TcpStream>,
    fault: Option<Fault>,
) -> io::Result<()> {
    let (status, headers) = read_head(&mut service).await?;
    if matches!(fault, Some(Fault::LoseAnswer)) {
        return Ok(());
    }
    let mut head = status.replace("HTTP/1.0", "HTTP/1.1");
    for (name, value) in headers.iter().filter(|(name, _)| *name != "connection") {
        head.push_str(&format!("\r\n{name}: {value}"));
    }
    head.push_str("\r\nconnection: close\r\n\r\n");
    client.write_all(head.as_bytes()).await?;
    match fault {
        Some(Fault::Cut(after, stop)) => {
            tokio::io::copy(&mut service.take(after as u64), &mut client).await?;
            match stop {
                Stop::Clean | Stop::Truncated => {}
                Stop::Reset => rustix::net::sockopt::set_socket_linger(
                    &client,
                    Some(std::time::Duration::ZERO),
                )?,
                Stop::Silent => std::future::pending().await,
            }
        }
        Some(Fault::Replace(from, to)) => {
            let mut body = Vec::new();
            service.read_to_end(&mut body).await?;
            let body = String::from_utf8(body).unwrap().replace(from, to);
            client.write_all(body.as_bytes()).await?;
        }
        _ => {
            tokio::io::copy(&mut service, &mut client).await?;
        }
    }
    Ok(())
}

/// Reads the first line and the headers of a request or a response.
async fn read_head(
    from: &mut BufReader<TcpStream>,
) -> io::Result<(String, HashMap<String, String>)> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if from.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let first = lines.remove(0);
    let headers = lines.iter().filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    Ok((first, headers.collect()))
}
