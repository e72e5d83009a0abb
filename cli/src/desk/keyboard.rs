use std::io::{IsTerminal, Stdin, stdin};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{QueueSelector, tcflush};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The longest line that a terminal hands over.
const LINE_BYTES: usize = 4096;

/// Standard input, if a person types there. It is only read when there is something to read, so that nothing
/// hangs on it when the job ends.
pub(super) struct Keyboard(AsyncFd<Stdin>);

impl Keyboard {
    /// `None` if standard input is no terminal.
    pub(super) fn open() -> Option<Self> {
        let stdin = stdin();
        if !stdin.is_terminal() {
            return None;
        }
        // SAFETY: standard input is the same descriptor for as long as the process lives, and nobody closes it.
        #[expect(unsafe_code, reason = "tokio cannot know that")]
        let registered = unsafe { AsyncFd::register_with_interest(stdin, Interest::READABLE) };
        registered.ok().map(Self)
    }

    /// Forgets what was typed so far.
    pub(super) fn flush(&self) {
        // Without it an old line counts as an answer, and is shown.
        let _ = tcflush(self.0.get_ref(), QueueSelector::IFlush);
    }

    /// The next line; `None` at the end of the input.
    pub(super) async fn line(&self) -> std::io::Result<Option<String>> {
        loop {
            let mut ready = self.0.readable().await?;
            let mut fds = [PollFd::new(self.0.get_ref(), PollFlags::IN)];
            if poll(&mut fds, Some(&Timespec::default()))? == 0 {
                ready.clear_ready();
                continue;
            }
            let mut line = [0; LINE_BYTES];
            let length = rustix::io::read(self.0.get_ref(), &mut line)?;
            let text = String::from_utf8_lossy(&line[..length]).into_owned();
            return Ok((length > 0).then_some(text));
        }
    }
}
