//! Lines that a person types at a terminal.

use std::io::{IsTerminal, PipeReader, Result, stdin};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::termios::{QueueSelector, tcflush};
use tokio::task::spawn_blocking;

/// The longest line that a terminal delivers.
const LINE_BYTES: usize = 4096;

/// Standard input, if it is a terminal. It is read only when input is available, so that no read blocks when the job
/// ends.
pub(super) struct Keyboard(Arc<OwnedFd>);

impl Keyboard {
    /// Returns `None` if standard input is not a terminal.
    pub(super) fn open() -> Option<Self> {
        let stdin = stdin();
        if !stdin.is_terminal() {
            return None;
        }
        let owned = stdin.as_fd().try_clone_to_owned().ok()?;
        Some(Self(Arc::new(owned)))
    }

    /// Discards the pending input.
    pub(super) fn flush(&self) {
        // If this fails, a line that was typed earlier counts as an answer, and the terminal shows it.
        let _ = tcflush(&self.0, QueueSelector::IFlush);
    }

    /// Returns the next line, or `None` at the end of the input.
    pub(super) async fn line(&self) -> Result<Option<String>> {
        // Dropping this future closes the pipe, which ends the wait of the thread.
        let (cancelled, _cancel) = std::io::pipe()?;
        let input = self.0.clone();
        spawn_blocking(move || read_line(&input, &cancelled)).await?
    }
}

/// Waits for a line and reads it. Returns `None` at the end of the input or when the pipe is closed.
fn read_line(input: &OwnedFd, cancelled: &PipeReader) -> Result<Option<String>> {
    let mut fds = [
        PollFd::new(input, PollFlags::IN),
        PollFd::new(cancelled, PollFlags::IN),
    ];
    retry_on_intr(|| poll(&mut fds, None))?;
    if !fds[1].revents().is_empty() {
        return Ok(None);
    }
    let mut line = [0; LINE_BYTES];
    let length = rustix::io::read(input, &mut line)?;
    let text = String::from_utf8_lossy(&line[..length]).into_owned();
    Ok((length > 0).then_some(text))
}
