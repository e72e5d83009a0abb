//! DNS resolution with a fallback to the calling thread.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::thread;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tokio::sync::oneshot;

/// A DNS resolver that uses the operating system. The default resolver of the HTTP client panics if it cannot start a
/// thread.
pub(crate) struct Resolver;

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let (found, addresses) = oneshot::channel();
            let host = name.as_str().to_owned();
            let asking = thread::Builder::new().spawn(move || {
                // The receiver is dropped if the request was cancelled.
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

/// Returns the addresses of a host, with port 0. Blocks.
fn look_up(host: &str) -> io::Result<Vec<SocketAddr>> {
    Ok((host, 0).to_socket_addrs()?.collect())
}
