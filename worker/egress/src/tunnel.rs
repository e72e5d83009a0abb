//! Tunnels to permitted hosts, with a check of the name in a TLS hello.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::destination::Destination;
use super::policy::Policy;
use super::relay::{Relayed, relay};
use super::sni::{Hello, HelloReader, MAX_HELLO_BYTES};

/// The port on which only TLS is spoken, so that the name in it can be compared.
const HTTPS: u16 = 443;
/// The fatal alert `unrecognized_name`, which clients turn into words.
const ALERT: [u8; 7] = [21, 3, 3, 0, 2, 2, 112];

/// A client and the host that it was connected to.
pub(super) struct Tunnel {
    pub(super) client: TcpStream,
    pub(super) server: TcpStream,
    pub(super) host: Destination,
    pub(super) port: u16,
    /// What the client has already sent.
    pub(super) early: Vec<u8>,
}

impl Tunnel {
    /// Carries bytes until both sides are done.
    pub(super) async fn run(mut self, policy: &Policy) {
        if self.port == HTTPS {
            let checking = timeout(policy.limits.greeting, self.check_name());
            // Who says nothing has nothing to carry.
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

    /// Whether the client asks for the host that it was connected to: one address may serve many, and
    /// the name in the first message of TLS chooses. `None` if the client goes away before.
    async fn check_name(&mut self) -> Option<Result<(), String>> {
        let mut hello = HelloReader::default();
        // Each round brings bytes, and so many make a hello invalid.
        loop {
            let (host, port) = (&self.host, self.port);
            match hello.read(&self.early) {
                Hello::Whole(None) => return Some(Ok(())),
                Hello::Whole(Some(name)) => {
                    let is_host = match host {
                        Destination::Name(host) => name.eq_ignore_ascii_case(host.as_str()),
                        // The name that one address has is up to its network, which the operator opened.
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

/// Says where a connection went and how much it carried, not what.
pub(super) fn log(host: &Destination, port: u16, relayed: &Relayed) {
    let Relayed {
        sent,
        received,
        end,
    } = relayed;
    tracing::debug!(%host, port, sent, received, ?end, "a connection ended");
}
