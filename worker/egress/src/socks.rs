//! The part of SOCKS version 5 (RFC 1928) in which the proxy looks up names: `socks5h`.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::destination::Destination;
use super::policy::{Denied, Policy, printable};
use super::tunnel::Tunnel;

/// The first byte of every message from a client.
pub(super) const VERSION: u8 = 5;

const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// The reply to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum SocksReply {
    Succeeded = 0,
    Failure = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    ConnectionRefused = 5,
    TimedOut = 6,
    CommandNotSupported = 7,
    AddressTypeNotSupported = 8,
}

/// The destination as a client named it.
enum SocksTarget {
    Name(Vec<u8>, u16),
    Address(SocketAddr),
}

/// Serves one client of the proxy.
pub(super) async fn serve(policy: &Policy, mut client: TcpStream) {
    let reading = read_request(&mut client);
    // A client that sends nothing or disconnects receives no reply.
    let Ok(Ok(request)) = timeout(policy.limits.greeting, reading).await else {
        return;
    };
    let opened = match request.and_then(|target| accept(policy, target)) {
        Ok((host, port)) => match policy.connect(&host, port).await {
            Ok(server) => Ok((server, host, port)),
            Err(denied) => Err(reply_to(denied)),
        },
        Err(reply) => Err(reply),
    };
    let reply = opened
        .as_ref()
        .err()
        .copied()
        .unwrap_or(SocksReply::Succeeded);
    if write_reply(&mut client, reply).await.is_ok()
        && let Ok((server, host, port)) = opened
    {
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

/// Agrees on no authentication and reads the destination. It reads exactly these bytes, nothing that follows.
async fn read_request(client: &mut TcpStream) -> io::Result<Result<SocksTarget, SocksReply>> {
    let _version = client.read_u8().await?;
    let count = client.read_u8().await?;
    let mut methods = vec![0; usize::from(count)];
    client.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        client.write_all(&[VERSION, NO_METHOD]).await?;
        client.shutdown().await?;
        return Err(io::ErrorKind::Unsupported.into());
    }
    client.write_all(&[VERSION, NO_AUTHENTICATION]).await?;

    let mut head = [0; 4];
    client.read_exact(&mut head).await?;
    let [version, command, reserved, kind] = head;
    if version != VERSION || reserved != 0 {
        return Ok(Err(SocksReply::Failure));
    }
    if command != CONNECT {
        return Ok(Err(SocksReply::CommandNotSupported));
    }
    Ok(match kind {
        NAME => {
            let length = client.read_u8().await?;
            let mut name = vec![0; usize::from(length)];
            client.read_exact(&mut name).await?;
            Ok(SocksTarget::Name(name, client.read_u16().await?))
        }
        IPV4 => {
            let address = Ipv4Addr::from(client.read_u32().await?);
            let port = client.read_u16().await?;
            Ok(SocksTarget::Address((address, port).into()))
        }
        IPV6 => {
            let address = Ipv6Addr::from(client.read_u128().await?);
            let port = client.read_u16().await?;
            Ok(SocksTarget::Address((address, port).into()))
        }
        _ => Err(SocksReply::AddressTypeNotSupported),
    })
}

/// Converts a destination. A client sends an address if it resolves names itself or tries to bypass the rules. The
/// policy accepts few addresses.
fn accept(policy: &Policy, target: SocksTarget) -> Result<(Destination, u16), SocksReply> {
    let (name, port) = match target {
        SocksTarget::Name(name, port) => (name, port),
        SocksTarget::Address(address) => {
            return Ok((Destination::Address(address.ip()), address.port()));
        }
    };
    let host = std::str::from_utf8(&name)
        .ok()
        .and_then(|name| Destination::parse(name).ok());
    match host {
        Some(host) if port != 0 => Ok((host, port)),
        _ => {
            policy.note_refused(format!("{}:{port}", printable(&name)));
            Err(SocksReply::NotAllowed)
        }
    }
}

fn reply_to(denied: Denied) -> SocksReply {
    match denied {
        Denied::NotAllowed | Denied::Address | Denied::NotPublic(_) => SocksReply::NotAllowed,
        Denied::Unknown => SocksReply::HostUnreachable,
        Denied::Unreachable => SocksReply::ConnectionRefused,
        Denied::TimedOut => SocksReply::TimedOut,
    }
}

/// Sends a reply. Its address, which would be that of the proxy's end, is zero because clients need not know it.
async fn write_reply(client: &mut TcpStream, reply: SocksReply) -> io::Result<()> {
    let bytes = [VERSION, reply as u8, 0, IPV4, 0, 0, 0, 0, 0, 0];
    client.write_all(&bytes).await
}
