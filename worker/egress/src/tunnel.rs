//! Tunnels to permitted hosts, with a check of the name in a TLS hello.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::destination::Destination;
use super::policy::Policy;
use super::relay::{Relayed, relay};
use super::sni::{Hello, HelloReader, MAX_HELLO_BYTES};

/// The port on which only TLS is accepted, so that the name in its hello can be checked.
const HTTPS: u16 = 443;
/// The fatal alert `unrecognized_name`, for which clients show an error message.
const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];

/// A client, and the connection to its host.
pub(super) struct Tunnel {
    pub(super) client: TcpStream,
    pub(super) server: TcpStream,
    pub(super) host: Destination,
    pub(super) port: u16,
    /// The bytes that the client has already sent.
    pub(super) early: Vec<u8>,
}

impl Tunnel {
    /// Relays bytes until both sides are done.
    pub(super) async fn run(mut self, policy: &Policy) {
        if self.port == HTTPS {
            let checking = timeout(policy.limits.greeting, self.check_name());
            // A client that sends no data needs no tunnel.
            let Ok(Some(checked)) = checking.await else {
                return;
            };
            if let Err(refused) = checked {
                tracing::debug!(host = %self.host, refused, "no tunnel");
                policy.note_refused(refused);
                // The client may be gone.
                let _ = self.client.write_all(&ALERT).await;
                let _ = self.client.shutdown().await;
                return;
            }
        }
        let limits = policy.limits;
        let relayed = relay(self.client, self.server, &self.early, u64::MAX, limits.idle).await;
        log(&self.host, self.port, &relayed);
    }

    /// Checks that the client requests the host of the connection. One address may serve many hosts, and the name in
    /// the first TLS message selects one. Returns `None` if the client disconnects before.
    async fn check_name(&mut self) -> Option<Result<(), String>> {
        let mut hello = HelloReader::default();
        // Each iteration adds bytes, and a hello at the size limit is invalid, so the loop ends.
        loop {
            let (host, port) = (&self.host, self.port);
            match hello.read(&self.early) {
                Hello::Complete(None) => return Some(Ok(())),
                Hello::Complete(Some(name)) => {
                    let is_host = match host {
                        Destination::Name(host) => name.eq_ignore_ascii_case(host.as_str()),
                        // An address may have any name, because the operator opened its network.
                        Destination::Address(_) => true,
                    };
                    return Some(if is_host {
                        Ok(())
                    } else {
                        Err(format!("{name}:{port} (asked for at {host})"))
                    });
                }
                Hello::Invalid => return Some(Err(format!("{host}:{port} (not with TLS)"))),
                Hello::Partial => {}
            }
            let room = MAX_HELLO_BYTES.saturating_sub(self.early.len()) as u64;
            let mut source = (&mut self.client).take(room);
            if !matches!(source.read_buf(&mut self.early).await, Ok(1..)) {
                return None;
            }
        }
    }
}

/// Logs the destination of a connection and the amount of its data, but not the data.
pub(super) fn log(host: &Destination, port: u16, relayed: &Relayed) {
    let Relayed {
        sent,
        received,
        end,
    } = relayed;
    tracing::debug!(%host, port, sent, received, ?end, "a connection ended");
}
