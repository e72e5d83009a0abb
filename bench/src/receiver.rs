//! A receiver of webhooks that answers at once and reports the arrival of each milestone.

use std::time::Instant;

use anyhow::{Context, ensure};
use serde::Deserialize;
use shared::feed::FeedEvent;
use shared::id::JobId;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

const END_OF_HEAD: &[u8] = b"\r\n\r\n";
const ANSWER: &[u8] = b"HTTP/1.1 204 No Content\r\n\r\n";

/// A milestone that arrived: its job, its sequence number in the log, and the time.
pub(crate) type Arrival = (JobId, i64, Instant);

/// The body of a webhook.
#[derive(Deserialize)]
struct Posted {
    data: FeedEvent,
}

/// A server on a separate port, which runs until it is dropped.
pub(crate) struct Receiver {
    pub(crate) url: String,
    pub(crate) arrivals: mpsc::UnboundedReceiver<Arrival>,
    _serving: AbortOnDropHandle<()>,
}

impl Receiver {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let (received, arrivals) = mpsc::unbounded_channel();
        let serving = AbortOnDropHandle::new(tokio::spawn(serve(listener, received)));
        Ok(Self {
            url,
            arrivals,
            _serving: serving,
        })
    }
}

async fn serve(listener: TcpListener, received: mpsc::UnboundedSender<Arrival>) {
    let mut connections = JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        let received = received.clone();
        connections.spawn(async move {
            // A connection ends when its sender closes it.
            let _ = answer(connection, received).await;
        });
    }
}

async fn answer(
    mut connection: TcpStream,
    received: mpsc::UnboundedSender<Arrival>,
) -> anyhow::Result<()> {
    let mut unread = Vec::new();
    loop {
        let head = loop {
            let end = unread
                .windows(END_OF_HEAD.len())
                .position(|it| it == END_OF_HEAD);
            if let Some(end) = end {
                break end + END_OF_HEAD.len();
            }
            read_more(&mut connection, &mut unread).await?;
        };
        let end = head + length(&unread[..head])?;
        while unread.len() < end {
            read_more(&mut connection, &mut unread).await?;
        }
        let now = Instant::now();
        let Posted { data } = serde_json::from_slice(&unread[head..end])?;
        received.send((data.job_id, data.seq, now))?;
        unread.drain(..end);
        connection.write_all(ANSWER).await?;
    }
}

async fn read_more(connection: &mut TcpStream, unread: &mut Vec<u8>) -> anyhow::Result<()> {
    let count = connection.read_buf(unread).await?;
    ensure!(count > 0, "the connection has ended");
    Ok(())
}

/// Returns the length of the body.
fn length(head: &[u8]) -> anyhow::Result<usize> {
    let head = std::str::from_utf8(head)?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().ok())?
    });
    length.context("the webhook request has no content-length")
}
