//! A relay between two connections.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Take};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

/// The size of one read.
const CHUNK_BYTES: usize = 16 * 1024;

/// The number of relayed bytes, and the reason for the end.
#[derive(Debug)]
pub(super) struct Relayed {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) end: RelayEnd,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RelayEnd {
    /// Both sides sent everything.
    Closed,
    /// Neither side sent anything for too long.
    Idle,
    /// The connection to one side was lost.
    Broken,
}

/// Relays bytes both ways until both sides are done. The server first receives `early`, which the client has already
/// sent. It receives at most `upload` bytes in total.
pub(super) async fn relay(
    mut client: TcpStream,
    mut server: TcpStream,
    early: &[u8],
    upload: u64,
    idle: Duration,
) -> Relayed {
    let traffic = Traffic::begin();
    let (client_reader, client_writer) = client.split();
    let (server_reader, server_writer) = server.split();
    let up = async {
        let source = early.chain(client_reader).take(upload);
        match pump(source, server_writer, &traffic, &traffic.sent).await {
            // The server accepts no more data, but it may still send an answer.
            Ok(()) | Err(Lost::Sink) => Ok(()),
            Err(Lost::Source) => Err(Lost::Source),
        }
    };
    let down = pump(
        server_reader.take(u64::MAX),
        client_writer,
        &traffic,
        &traffic.received,
    );
    let end = tokio::select! {
        ended = async { tokio::try_join!(up, down) } => match ended {
            Ok(_) => RelayEnd::Closed,
            Err(_) => RelayEnd::Broken,
        },
        () = traffic.silence(idle) => RelayEnd::Idle,
    };
    if end != RelayEnd::Closed {
        // A cut connection must not look like a regular end.
        let _ = client.set_zero_linger();
        let _ = server.set_zero_linger();
    }
    Relayed {
        sent: traffic.sent.into_inner(),
        received: traffic.received.into_inner(),
        end,
    }
}

/// The side of a pump that was lost.
enum Lost {
    Source,
    Sink,
}

/// Copies bytes one way until the source ends, and passes the end on.
async fn pump(
    mut source: Take<impl AsyncRead + Unpin>,
    mut sink: impl AsyncWrite + Unpin,
    traffic: &Traffic,
    count: &AtomicU64,
) -> Result<(), Lost> {
    let mut chunk = vec![0; CHUNK_BYTES];
    loop {
        let read = source.read(&mut chunk).await.map_err(|_| Lost::Source)?;
        if read == 0 {
            break;
        }
        traffic.touch();
        write(&mut sink, &chunk[..read], traffic)
            .await
            .map_err(|_| Lost::Sink)?;
        count.fetch_add(read as u64, Ordering::Relaxed);
    }
    // Servers take the end of a request's stream for a client that gave up. So the end is passed on only if the client
    // really ended, not if it sent everything that it announced.
    if source.limit() > 0 {
        sink.shutdown().await.map_err(|_| Lost::Sink)?;
    }
    Ok(())
}

/// Writes all bytes. A connection with a slow reader is not idle.
async fn write(
    sink: &mut (impl AsyncWrite + Unpin),
    mut bytes: &[u8],
    traffic: &Traffic,
) -> io::Result<()> {
    while !bytes.is_empty() {
        let written = sink.write(bytes).await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        traffic.touch();
        bytes = &bytes[written..];
    }
    Ok(())
}

struct Traffic {
    begun_at: Instant,
    /// The time of the last transfer, in milliseconds after the start.
    last_ms: AtomicU64,
    sent: AtomicU64,
    received: AtomicU64,
}

impl Traffic {
    fn begin() -> Self {
        Self {
            begun_at: Instant::now(),
            last_ms: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            received: AtomicU64::new(0),
        }
    }

    fn touch(&self) {
        let elapsed = u64::try_from(self.begun_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(elapsed, Ordering::Relaxed);
    }

    /// Waits until no byte has moved for `idle`.
    async fn silence(&self, idle: Duration) {
        loop {
            let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
            let deadline = self.begun_at + last + idle;
            if Instant::now() >= deadline {
                return;
            }
            sleep_until(deadline).await;
        }
    }
}
