//! A command that a model wrote: its time limit, its output and its end.

use std::time::{Duration, Instant};

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::sync::mpsc;
use tokio::time::{sleep_until, timeout};

use shared::event::OutputStream;
use worker_sandbox::{CommandEnd, LaunchError, Limit, RunningCommand};
use worker_workspace::{HeadTail, HeadTailBuffer, TextStream};
use worker_workspace::{Spill, Spilled};

/// The limits of a command in addition to those of its sandbox.
#[derive(Clone, Copy)]
pub(crate) struct CommandLimits {
    /// The wall-clock time.
    pub timeout: Duration,
    /// The number of bytes of each stream that are kept.
    pub output_bytes: usize,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct FinishedCommand {
    pub ended: CommandEnd,
    /// Whether the command was killed when its time ran out.
    pub timed_out: bool,
    pub stdout: StreamOutput,
    pub stderr: StreamOutput,
    pub duration: Duration,
}

/// The output of a command on one stream.
#[derive(Debug)]
pub(crate) struct StreamOutput {
    pub shown: HeadTail,
    /// The file with the whole output, if more was printed than is shown.
    pub whole: Option<Spilled>,
}

/// The sinks of live and complete output.
pub(crate) struct OutputSinks {
    /// The channel for live output.
    pub live: mpsc::Sender<OutputChunk>,
    /// The files for output that is larger than is shown.
    pub stdout: Spill,
    pub stderr: Spill,
}

/// A piece of live output.
pub(crate) type OutputChunk = (OutputStream, String);

/// The maximum number of bytes that a command may print on either stream. Beyond it, the command is killed.
pub(crate) const MAX_OUTPUT_BYTES: u64 = 256 * 1024 * 1024;
/// The time for reading the output that is still in the pipes after the end of a command.
const DRAIN_GRACE: Duration = Duration::from_millis(200);
const CHUNK_BYTES: usize = 16 * 1024;

/// Follows a started command to its end.
pub(crate) async fn follow(
    running: &mut RunningCommand,
    limits: CommandLimits,
    sinks: OutputSinks,
) -> Result<FinishedCommand, LaunchError> {
    let begun_at = Instant::now();
    let deadline = tokio::time::Instant::now() + limits.timeout;
    let (stdout, stderr) = running.take_output();
    let live = sinks.live;
    let mut stdout = OutputReader::new(
        stdout,
        OutputStream::Stdout,
        limits,
        live.clone(),
        sinks.stdout,
    );
    let mut stderr = OutputReader::new(stderr, OutputStream::Stderr, limits, live, sinks.stderr);

    let mut reading =
        Box::pin(async { tokio::try_join!(stdout.read_to_end(), stderr.read_to_end()).is_ok() });
    let mut read_all = None;
    let mut timed_out = false;
    let ended = loop {
        tokio::select! {
            ended = running.ended() => break ended?,
            within_limit = &mut reading, if read_all.is_none() => {
                read_all = Some(within_limit);
                if !within_limit {
                    running.kill();
                }
            }
            () = sleep_until(deadline), if !timed_out => {
                timed_out = true;
                running.kill();
            }
        }
    };
    if read_all.is_none() {
        let _ = timeout(DRAIN_GRACE, &mut reading).await;
    }
    drop(reading);
    let has_overflown = read_all == Some(false);
    Ok(FinishedCommand {
        ended: CommandEnd {
            limit: ended.limit.or(has_overflown.then_some(Limit::Output)),
            ..ended
        },
        timed_out,
        stdout: stdout.finish().await,
        stderr: stderr.finish().await,
        duration: begun_at.elapsed(),
    })
}

/// The command printed more than it may.
struct TooMuchOutput;

struct OutputReader {
    pipe: Receiver,
    stream: OutputStream,
    buffer: HeadTailBuffer,
    spill: Spill,
    text: TextStream,
    live: mpsc::Sender<OutputChunk>,
    /// The remaining bytes of live output, which has the same limit as the output that is kept.
    live_bytes: usize,
    is_spilling: bool,
}

impl OutputReader {
    fn new(
        pipe: Receiver,
        stream: OutputStream,
        limits: CommandLimits,
        live: mpsc::Sender<OutputChunk>,
        spill: Spill,
    ) -> Self {
        Self {
            pipe,
            stream,
            buffer: HeadTailBuffer::new(limits.output_bytes),
            spill,
            text: TextStream::default(),
            live,
            live_bytes: limits.output_bytes,
            is_spilling: false,
        }
    }

    async fn read_to_end(&mut self) -> Result<(), TooMuchOutput> {
        let mut chunk = vec![0; CHUNK_BYTES];
        let mut total = 0;
        while let Ok(count @ 1..) = self.pipe.read(&mut chunk).await {
            total += count as u64;
            if total > MAX_OUTPUT_BYTES {
                return Err(TooMuchOutput);
            }
            self.keep(&chunk[..count]).await;
            let shown = count.min(self.live_bytes);
            self.live_bytes -= shown;
            let text = self.text.push(&chunk[..shown]);
            show(&self.live, self.stream, text).await;
        }
        if self.live_bytes > 0 {
            show(&self.live, self.stream, self.text.finish()).await;
        }
        Ok(())
    }

    async fn keep(&mut self, chunk: &[u8]) {
        if self.buffer.loses_with(chunk.len()) {
            if !self.is_spilling {
                self.is_spilling = true;
                self.spill.push(&self.buffer.kept()).await;
            }
            self.spill.push(chunk).await;
        }
        self.buffer.push(chunk);
    }

    async fn finish(self) -> StreamOutput {
        StreamOutput {
            shown: self.buffer.finish(),
            whole: self.spill.finish().await,
        }
    }
}

async fn show(live: &mpsc::Sender<OutputChunk>, stream: OutputStream, text: String) {
    if !text.is_empty() {
        // There may be no listener.
        let _ = live.send((stream, text)).await;
    }
}
