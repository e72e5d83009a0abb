//! A follower of a job on a bare connection, which takes next to nothing itself.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use shared::id::JobId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::service::Service;

/// No event takes longer, or something is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where followers connect, and their key.
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

    /// Connects, and returns when the stream has begun. It has what came after that event.
    pub(crate) async fn follow(&self, job: JobId, last: i64) -> anyhow::Result<RawFollower> {
        let Self { host, key } = self;
        let request = format!(
            "GET /v1/jobs/{job}/stream HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {key}\r\n\
             Last-Event-ID: {last}\r\n\r\n"
        );
        let mut follower = RawFollower {
            connection: timeout(PATIENCE, TcpStream::connect(&**host)).await??,
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

    /// Connects, and returns when it has the first event.
    pub(crate) async fn follow_from_start(&self, job: JobId) -> anyhow::Result<RawFollower> {
        let mut follower = self.follow(job, 0).await?;
        follower.read_until("event: job.queued").await?;
        Ok(follower)
    }
}

pub(crate) struct RawFollower {
    connection: TcpStream,
    /// What came since it was last looked at.
    seen: String,
}

impl RawFollower {
    /// Reads on until that event has come.
    pub(crate) async fn read_event(&mut self, seq: i64) -> anyhow::Result<()> {
        self.read_until(&format!("id: {seq}\n")).await?;
        self.seen.clear();
        Ok(())
    }

    /// Reads on until that was there.
    pub(crate) async fn read_until(&mut self, text: &str) -> anyhow::Result<()> {
        let mut bytes = Vec::new();
        while !self.seen.contains(text) {
            let read = timeout(PATIENCE, self.connection.read_buf(&mut bytes)).await;
            let count = read.context("a follower got nothing")??;
            ensure!(count > 0, "a stream ended early");
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
            bytes.clear();
        }
        Ok(())
    }
}
