//! A follower of a job on a plain TCP connection, which needs almost no resources itself.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use shared::id::JobId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::service::Service;

/// The timeout for an event. A longer delay means a defect.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The address to which followers connect, and their key.
#[derive(Clone)]
pub(crate) struct RawClient {
    host: Arc<str>,
    key: Arc<str>,
}

impl RawClient {
    pub(crate) fn of(service: &Service) -> Self {
        Self {
            host: service.url.trim_start_matches("http://").into(),
            key: service.key.as_str().into(),
        }
    }

    /// Connects, and returns when the stream has started. The stream contains the events after `last`.
    pub(crate) async fn follow(&self, job: JobId, last: i64) -> anyhow::Result<RawFollower> {
        let Self { host, key } = self;
        let request = format!(
            "GET /v1/jobs/{job}/stream HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\
             Last-Event-ID: {last}\r\n\r\n"
        );
        let mut follower = RawFollower {
            connection: timeout(TIMEOUT, TcpStream::connect(&**host)).await??,
            seen: String::new(),
        };
        follower.connection.write_all(request.as_bytes()).await?;
        follower.read_until("\r\n\r\n").await?;
        ensure!(
            follower.seen.starts_with("HTTP/1.1 200 "),
            "no stream: {}",
            follower.seen
        );
        Ok(follower)
    }

    /// Connects, and returns when the first event has arrived.
    pub(crate) async fn follow_from_start(&self, job: JobId) -> anyhow::Result<RawFollower> {
        let mut follower = self.follow(job, 0).await?;
        follower.read_until("event: job.queued").await?;
        Ok(follower)
    }
}

pub(crate) struct RawFollower {
    connection: TcpStream,
    /// The text that has arrived since the last event was read.
    seen: String,
}

impl RawFollower {
    /// Reads until this event has arrived.
    pub(crate) async fn read_event(&mut self, seq: i64) -> anyhow::Result<()> {
        self.read_until(&format!("id: {seq}\n")).await?;
        self.seen.clear();
        Ok(())
    }

    /// Reads until this text has arrived.
    pub(crate) async fn read_until(&mut self, text: &str) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        while !self.seen.contains(text) {
            let read = timeout(TIMEOUT, self.connection.read_buf(&mut bytes)).await;
            let count = read.context("a follower timed out")??;
            ensure!(count > 0, "a stream ended early");
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
            bytes.clear();
        }
        Ok(())
    }
}
