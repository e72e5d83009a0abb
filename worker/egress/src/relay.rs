//! A relay between two connections.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Take};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep_until};

/// What is read at once.
const CHUNK_BYTES: usize = 16 * 1024;

/// What went through, and how it ended.
#[derive(Debug)]
pub(super) struct Relayed {
    pub(super) sent: u64,
    pub(super) received: u64,
    pub(super) end: RelayEnd,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum RelayEnd {
    /// Both sides said all they had to say.
    Closed,
    /// Neither side said anything for too long.
    Idle,
    /// A side was lost.
    Broken,
}

/// Carries bytes both ways until both sides are done. The first ones to the server are `early`, which the
/// client has already sent; it gets at most `upload` bytes.
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
            // The server wants no more, but it may have an answer on the way.
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
        // What was cut must not look like the end.
        let _ = client.set_zero_linger();
        let _ = server.set_zero_linger();
    }
    Relayed {
        sent: traffic.sent.into_inner(),
        received: traffic.received.into_inner(),
        end,
    }
}

/// Which side of a pump was lost.
enum Lost {
    Source,
    Sink,
}

/// Carries bytes one way until there are no more, and passes that on.
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
    // Servers take the end of a request's stream for a client that gave up, so they are told of it only
    // when the client really ended, not when it sent all that it announced.
    if source.limit() > 0 {
        sink.shutdown().await.map_err(|_| Lost::Sink)?;
    }
    Ok(())
}

/// Writes all. A reader that takes it slowly is not idle.
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
    /// When the last byte moved, in milliseconds after the beginning.
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
