//! A reader with a limit on its length.

use std::io::{self, Read};

/// A reader that refuses to go further than `left`.
pub(super) struct Capped<R> {
    pub(super) inner: R,
    pub(super) left: usize,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !buffer.is_empty() {
            return Err(io::Error::other(CapExceeded));
        }
        let wanted = buffer.len().min(self.left);
        let count = self.inner.read(&mut buffer[..wanted])?;
        self.left -= count;
        Ok(count)
    }
}

/// The message of its error, which other libraries pass on.
#[derive(Debug, thiserror::Error)]
#[error("more than there may be")]
pub(super) struct CapExceeded;
