//! A buffer that keeps the head and the tail of a stream, as much as a model should read.

use std::collections::VecDeque;

/// The first and the last bytes of a stream of any length.
pub struct HeadTailBuffer {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    half: usize,
    total: u64,
}

/// The kept text of a stream.
#[derive(Debug, PartialEq, Eq)]
pub struct HeadTail {
    /// Valid text without NULs, of about the maximum size at most.
    pub text: String,
    /// Whether bytes in the middle are missing.
    pub truncated: bool,
}

impl HeadTailBuffer {
    /// Creates a buffer that keeps at most `cap` bytes.
    pub fn new(cap: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            half: cap / 2,
            total: 0,
        }
    }

    /// Returns whether the buffer would lose bytes if `count` more were added.
    pub fn loses_with(&self, count: usize) -> bool {
        self.total + count as u64 > 2 * self.half as u64
    }

    /// Returns the kept bytes, which are all bytes if none were lost.
    pub fn kept(&self) -> Vec<u8> {
        self.head.iter().chain(&self.tail).copied().collect()
    }

    /// Adds bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (head, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(self.half);
        self.tail.drain(..surplus);
    }

    /// Ends the capture. If bytes are missing, a note between head and tail says how many.
    pub fn finish(self) -> HeadTail {
        let tail: Vec<u8> = self.tail.into();
        let missing = self.total - (self.head.len() + tail.len()) as u64;
        if missing == 0 {
            return HeadTail {
                text: to_text(&[self.head, tail].concat()),
                truncated: false,
            };
        }
        // A character that the cut split is left out.
        let head = self
            .head
            .utf8_chunks()
            .map(|chunk| chunk.valid())
            .collect::<String>();
        let start = tail
            .iter()
            .position(|byte| byte & 0xC0 != 0x80)
            .unwrap_or(0);
        let text = format!(
            "{}\n[… {missing} bytes left out …]\n{}",
            clean(&head),
            to_text(&tail[start..])
        );
        HeadTail {
            text,
            truncated: true,
        }
    }
}

/// A decoder that turns the chunks of a stream into text. A character that is split between chunks waits for its rest.
#[derive(Default)]
pub struct TextStream {
    rest: Vec<u8>,
}

impl TextStream {
    /// Returns the text that is complete with this chunk.
    pub fn push(&mut self, bytes: &[u8]) -> String {
        self.rest.extend_from_slice(bytes);
        let last = self
            .rest
            .utf8_chunks()
            .last()
            .map_or(&[][..], |chunk| chunk.invalid());
        let is_cut = std::str::from_utf8(last).is_err_and(|error| error.error_len().is_none());
        let incomplete = if is_cut { last.len() } else { 0 };
        let rest = self.rest.split_off(self.rest.len() - incomplete);
        to_text(&std::mem::replace(&mut self.rest, rest))
    }

    /// Returns the remaining text, in which a character is incomplete.
    pub fn finish(&mut self) -> String {
        to_text(&std::mem::take(&mut self.rest))
    }
}

/// Converts any bytes to text. Invalid bytes and NULs, which databases do not accept as text, become U+FFFD.
pub fn to_text(bytes: &[u8]) -> String {
    clean(&String::from_utf8_lossy(bytes))
}

fn clean(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn capture(cap: usize, bytes: &[u8], chunk: usize) -> HeadTail {
        let mut buffer = HeadTailBuffer::new(cap);
        bytes.chunks(chunk).for_each(|chunk| buffer.push(chunk));
        buffer.finish()
    }

    #[test]
    fn short_output_is_whole_and_long_output_keeps_both_ends() {
        let whole = capture(10, b"0123456789", 3);
        assert_eq!(
            whole,
            HeadTail {
                text: "0123456789".to_owned(),
                truncated: false
            }
        );
        let cut = capture(10, b"0123456789abcdef", 5);
        assert_eq!(
            cut,
            HeadTail {
                text: "01234\n[… 6 bytes left out …]\nbcdef".to_owned(),
                truncated: true
            }
        );
        assert_eq!(capture(100, b"a\0b\xffc", 1).text, "a\u{fffd}b\u{fffd}c");
    }

    #[test]
    fn a_character_cut_by_a_chunk_arrives_whole() {
        let text = "a€\u{10348}\u{fffd}z";
        for size in 1..6 {
            let mut stream = TextStream::default();
            let shown: String = text
                .as_bytes()
                .chunks(size)
                .map(|chunk| stream.push(chunk))
                .collect();
            assert_eq!(shown, text, "chunks of {size}");
            assert_eq!(stream.finish(), "");
        }
        let mut stream = TextStream::default();
        assert_eq!(stream.push(b"half of \xe2\x82"), "half of ");
        assert_eq!(stream.finish(), "\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_chunks_give_bounded_text_without_nul(
            bytes in proptest::collection::vec(any::<u8>(), 0..3000),
            chunk in 1_usize..200,
            cap in 2_usize..600,
        ) {
            let captured = capture(cap, &bytes, chunk);
            prop_assert!(!captured.text.contains('\0'));
            // U+FFFD has three bytes where the stream had one.
            prop_assert!(captured.text.len() <= 3 * cap + 60);
            prop_assert_eq!(captured.truncated, bytes.len() > cap / 2 * 2);
        }
    }
}
