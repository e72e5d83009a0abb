//! The HTTP proxy: requests and CONNECT.

use std::io;
use std::time::Duration;

use shared::host::HostError;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::destination::Destination;
use super::policy::{Denied, Policy};
use super::relay::relay;
use super::request::{self, BodyFraming, ProxyRequest, ProxyRequestError};
use super::tunnel::{Tunnel, log};

/// The maximum size of the head of a request. A larger head is refused.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// The maximum amount and time of reading after a refusal. The data is discarded, but the client then receives the
/// answer.
const MAX_LINGER_BYTES: u64 = 256 * 1024;
const LINGER: Duration = Duration::from_secs(1);

/// Serves one request to the proxy.
pub(super) async fn serve(policy: &Policy, mut client: TcpStream) {
    let reading = read_head(&mut client);
    // A client that sends nothing or disconnects receives no answer.
    let Ok(Ok((head, early))) = timeout(policy.limits.greeting, reading).await else {
        return;
    };
    let request = match &head {
        Some(head) => request::parse(head),
        None => Err(ProxyRequestError::Malformed("its head is too large")),
    };
    match request {
        Ok(ProxyRequest::Tunnel { host, port }) => connect(policy, client, host, port, early).await,
        Ok(ProxyRequest::Forward {
            host,
            port,
            head,
            body,
        }) => {
            let upload = match body {
                BodyFraming::Sized(size) => size.saturating_add(head.len() as u64),
                BodyFraming::Chunked => u64::MAX,
            };
            let early = [head, early].concat();
            forward(policy, client, &host, port, &early, upload).await;
        }
        Err(error) => refuse(policy, client, &error).await,
    }
}

/// Reads up to the empty line. Returns the head, or `None` if it is too large, and the bytes that were read after it.
async fn read_head(client: &mut TcpStream) -> io::Result<(Option<Vec<u8>>, Vec<u8>)> {
    const END: &[u8] = b"\r\n\r\n";
    let mut bytes = Vec::new();
    while bytes.len() < MAX_HEAD_BYTES {
        let seen = bytes.len();
        let room = (MAX_HEAD_BYTES - seen) as u64;
        if (&mut *client).take(room).read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let from = seen.saturating_sub(END.len() - 1);
        let end = bytes[from..]
            .windows(END.len())
            .position(|window| window == END);
        if let Some(end) = end {
            let rest = bytes.split_off(from + end + END.len());
            return Ok((Some(bytes), rest));
        }
    }
    Ok((None, Vec::new()))
}

async fn connect(
    policy: &Policy,
    mut client: TcpStream,
    host: Destination,
    port: u16,
    early: Vec<u8>,
) {
    let server = match policy.connect(&host, port).await {
        Ok(server) => server,
        Err(denied) => return deny(policy, client, denied, &host, port).await,
    };
    let established = b"HTTP/1.1 200 Connection established\r\n\r\n";
    if client.write_all(established).await.is_ok() {
        let tunnel = Tunnel {
            client,
            server,
            host,
            port,
            early,
        };
        tunnel.run(policy).await;
    }
}

/// Forwards a request. Only the bytes of this request are sent, so that the connection serves no other request. With a
/// chunked body the server ensures that, because it was asked to close the connection.
async fn forward(
    policy: &Policy,
    client: TcpStream,
    host: &Destination,
    port: u16,
    early: &[u8],
    upload: u64,
) {
    match policy.connect(host, port).await {
        Ok(server) => {
            let relayed = relay(client, server, early, upload, policy.limits.idle).await;
            log(host, port, &relayed);
        }
        Err(denied) => deny(policy, client, denied, host, port).await,
    }
}

async fn deny(policy: &Policy, client: TcpStream, denied: Denied, host: &Destination, port: u16) {
    let status = match denied {
        Denied::NotAllowed | Denied::Address | Denied::NotPublic(_) => "403 Forbidden",
        Denied::Unknown | Denied::Unreachable => "502 Bad Gateway",
        Denied::TimedOut => "504 Gateway Timeout",
    };
    answer(client, status, &policy.explain(denied, host, port)).await;
}

async fn refuse(policy: &Policy, client: TcpStream, error: &ProxyRequestError) {
    let status = match error {
        ProxyRequestError::Target { shown, cause } => {
            policy.note_refused(shown.clone());
            match cause {
                HostError::Address => "403 Forbidden",
                _ => "400 Bad Request",
            }
        }
        ProxyRequestError::Malformed(_) => "400 Bad Request",
    };
    answer(client, status, &format!("{error}. {}", policy.allowed())).await;
}

/// Answers and closes the connection. `Proxy-Status` (RFC 9209) distinguishes the answer from one of the host. The
/// rest of the client's data is read, because closing a connection with unread bytes resets it and loses the answer.
async fn answer(mut client: TcpStream, status: &str, text: &str) {
    let length = text.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\nproxy-status: skillet\r\nconnection: close\r\n\r\n{text}\n"
    );
    if client.write_all(answer.as_bytes()).await.is_ok() && client.shutdown().await.is_ok() {
        let mut rest = client.take(MAX_LINGER_BYTES);
        // The client may finish or not.
        let _ = timeout(LINGER, tokio::io::copy(&mut rest, &mut tokio::io::sink())).await;
    }
}
