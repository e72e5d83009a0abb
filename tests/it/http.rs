//! HTTP from well-behaved and badly behaved clients.

mod body;
mod connection;
mod convention;
mod cors;
mod head;
mod session;
mod token;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::Service;

/// The longest wait for the service to close a connection.
const TIMEOUT: std::time::Duration = std::time::Duration::from_secs(60);

/// A raw TCP connection to the service.
struct Raw(TcpStream);

impl Raw {
    async fn open(service: &Service) -> Self {
        let address = service.url.trim_start_matches("http://");
        Self(TcpStream::connect(address).await.unwrap())
    }

    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until the other side closes the connection.
    async fn rest(mut self) -> String {
        let mut bytes = Vec::new();
        let reading = timeout(TIMEOUT, self.0.read_to_end(&mut bytes)).await;
        // An aborted connection counts as closed.
        drop(reading.expect("it stays open"));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
