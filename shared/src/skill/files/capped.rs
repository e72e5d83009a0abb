//! A reader with a size limit.

use std::io::{self, Read};

/// A reader that fails after `left` more bytes.
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

/// The error of a reader that reached its limit. Other libraries pass it on.
#[derive(Debug, thiserror::Error)]
#[error("size limit exceeded")]
pub(super) struct CapExceeded;
