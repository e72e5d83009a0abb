//! A reader that limits how much an MCP server may print in an attempt.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, ReadBuf};

use super::size::Size;

/// The maximum number of bytes that a server may send in an attempt, the same as a command may print.
const MAX_BYTES: u64 = crate::command::MAX_OUTPUT_BYTES;

/// A reader of a server's lines, each of which is a message. It fails if a line or all lines together are too large.
pub(super) struct LimitedReader<R> {
    inner: R,
    line: Size,
    left: u64,
}

impl<R> LimitedReader<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            line: Size::default(),
            left: MAX_BYTES,
        }
    }

    fn count(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.left = self.left.saturating_sub(bytes.len() as u64);
        if self.left == 0 {
            return Err(io::Error::other("it sent too much output"));
        }
        for (place, piece) in bytes.split(|byte| *byte == b'\n').enumerate() {
            if place > 0 {
                self.line = Size::default();
            }
            self.line.add(piece).map_err(io::Error::other)?;
        }
        Ok(())
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for LimitedReader<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let reader = self.get_mut();
        let before = buffer.filled().len();
        ready!(Pin::new(&mut reader.inner).poll_read(context, buffer))?;
        let counted = reader.count(&buffer.filled()[before..]);
        if counted.is_err() {
            // A reader that gets an error must not see new bytes.
            buffer.set_filled(before);
        }
        Poll::Ready(counted)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, repeat};

    use super::*;
    use crate::mcp::size::MAX_MESSAGE_BYTES;

    #[tokio::test]
    async fn a_line_without_an_end_is_read_no_further_than_it_may_be_long() {
        let long = LimitedReader::new(repeat(b'x'))
            .read_to_end(&mut Vec::new())
            .await;
        assert_eq!(long.unwrap_err().to_string(), "a message is too large");
        let mut lines = vec![b'x'; MAX_MESSAGE_BYTES];
        lines.push(b'\n');
        lines.extend_from_within(..);
        let read = LimitedReader::new(&*lines)
            .read_to_end(&mut Vec::new())
            .await;
        assert_eq!(read.unwrap(), lines.len());
    }

    #[tokio::test]
    async fn lines_without_an_end_are_too_much_some_day() {
        let mut reader = LimitedReader::new(repeat(b'\n'));
        reader.left = 100_000;
        let mut all = Vec::new();
        let read = reader.read_to_end(&mut all).await;
        assert_eq!(read.unwrap_err().to_string(), "it sent too much output");
        assert!(all.len() < 200_000);
    }
}
