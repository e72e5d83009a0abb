//! Running a command that a model wrote.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{sleep_until, timeout};

use crate::capture::{Capture, Captured, TextStream};
use shared::event::OutputStream;

/// What a command may take.
#[derive(Clone, Copy)]
pub(crate) struct CommandLimits {
    /// Wall time.
    pub(crate) timeout: Duration,
    /// Bytes of each stream that are kept.
    pub(crate) output_bytes: usize,
}

/// What came of a command.
#[derive(Debug)]
pub(crate) struct Finished {
    /// How it ended; `None` if it was killed when its time ran out.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) duration: Duration,
}

impl Finished {
    /// The exit code as a shell would give it: 128 and the number for a signal.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        self.status.and_then(|status| {
            status
                .code()
                .or_else(|| status.signal().map(|signal| 128 + signal))
        })
    }
}

/// A piece of live output.
pub(crate) type Piece = (OutputStream, String);

/// The variables that a command sees, whatever the worker's own environment holds.
const ENVIRONMENT: [(&str, &str); 4] = [
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("TERM", "dumb"),
];
/// A process that left the group can hold the pipes open after the shell is gone; we read this much longer.
const DRAIN_GRACE: Duration = Duration::from_millis(200);
const CHUNK_BYTES: usize = 16 * 1024;

/// Runs `bash -c script` in `directory` with nothing on standard input. When it ends, or is dropped,
/// so does every process of its group.
pub(crate) async fn run(
    script: &str,
    directory: &Path,
    limits: CommandLimits,
    live: mpsc::Sender<Piece>,
) -> std::io::Result<Finished> {
    let begun_at = Instant::now();
    let mut child = Command::new("bash")
        .args(["-c", script])
        .current_dir(directory)
        .env_clear()
        .envs(ENVIRONMENT)
        .env("HOME", directory)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()?;
    let group = ProcessGroup::of(&child);
    let mut stdout = Reader::new(
        child.stdout.take(),
        OutputStream::Stdout,
        limits,
        live.clone(),
    );
    let mut stderr = Reader::new(child.stderr.take(), OutputStream::Stderr, limits, live);

    let deadline = tokio::time::Instant::now() + limits.timeout;
    let mut reading = Box::pin(async { tokio::join!(stdout.read_to_end(), stderr.read_to_end()) });
    let mut read_all = false;
    let status = loop {
        tokio::select! {
            status = child.wait() => break Some(status?),
            _ = &mut reading, if !read_all => read_all = true,
            () = sleep_until(deadline) => break None,
        }
    };
    drop(group);
    if !read_all {
        // What stays in the pipes after that belongs to someone who fled.
        let _ = timeout(DRAIN_GRACE, &mut reading).await;
    }
    drop(reading);
    Ok(Finished {
        status,
        stdout: stdout.capture.finish(),
        stderr: stderr.capture.finish(),
        duration: begun_at.elapsed(),
    })
}

/// Kills the group when dropped, also when the future that waits for the command is.
struct ProcessGroup(Option<Pid>);

impl ProcessGroup {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(id.cast_signed())))
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // There may be nobody left in it.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

struct Reader<R> {
    pipe: Option<R>,
    stream: OutputStream,
    capture: Capture,
    text: TextStream,
    live: mpsc::Sender<Piece>,
    /// What is shown live is capped like what is kept.
    live_bytes: usize,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    fn new(
        pipe: Option<R>,
        stream: OutputStream,
        limits: CommandLimits,
        live: mpsc::Sender<Piece>,
    ) -> Self {
        let capture = Capture::new(limits.output_bytes);
        Self {
            pipe,
            stream,
            capture,
            text: TextStream::default(),
            live,
            live_bytes: limits.output_bytes,
        }
    }

    async fn read_to_end(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
            self.capture.push(&chunk[..count]);
            let shown = count.min(self.live_bytes);
            self.live_bytes -= shown;
            let text = self.text.push(&chunk[..shown]);
            show(&self.live, self.stream, text).await;
        }
        if self.live_bytes > 0 {
            show(&self.live, self.stream, self.text.finish()).await;
        }
    }
}

async fn show(live: &mpsc::Sender<Piece>, stream: OutputStream, text: String) {
    if !text.is_empty() {
        // Nobody may be listening.
        let _ = live.send((stream, text)).await;
    }
}
