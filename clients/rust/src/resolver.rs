//! DNS resolution on the calling thread.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::thread;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::oneshot;

/// Asks the system for the addresses of a host. Other resolvers panic if they cannot start a thread.
pub(crate) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let (found, addresses) = oneshot::channel();
            let host = name.as_str().to_owned();
            let asking = thread::Builder::new().spawn(move || {
                // A command that was interrupted waits no longer.
                let _ = found.send(look_up(&host));
            });
            let addresses = match asking {
                Ok(_) => addresses.await??,
                Err(_) => look_up(name.as_str())?,
            };
            Ok(Box::new(addresses.into_iter()) as Addrs)
        })
    }
}

/// The addresses of a host, with no port yet. Blocks.
fn look_up(host: &str) -> io::Result<Vec<SocketAddr>> {
    Ok((host, 0).to_socket_addrs()?.collect())
}
