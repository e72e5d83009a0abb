//! The lines of a file as a model reads them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use shared::asset::{HEAD_BYTES, content_type_of, file_name};

use worker_workspace::to_text;

/// The maximum number of bytes of a file that are searched for the requested lines.
const MAX_SCANNED_BYTES: u64 = 256 * 1024 * 1024;
/// The maximum length of a line that is shown completely.
const MAX_LINE_BYTES: usize = 4000;

/// The lines to read, and the maximum size of their text.
pub(super) struct Wanted {
    /// The first line, from 0.
    pub(super) offset: u64,
    pub(super) lines: u64,
    pub(super) bytes: usize,
}

/// Lines of a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Lines {
    pub(super) text: String,
    /// The number of lines in the text.
    pub(super) count: u64,
    /// The number of lines in the file, or `None` if the file is too large to count them.
    pub(super) total: Option<u64>,
    /// Whether some lines were too long and are shown in part.
    pub(super) has_cut: bool,
    /// Whether there were bytes that are not UTF-8.
    pub(super) has_replaced: bool,
}

/// Returns the media type of a file that is not text.
pub(super) fn binary_type(file: &mut File, path: &str) -> io::Result<Option<String>> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    file.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(binary_type_of(&head, path))
}

/// Returns the same from a file's first bytes. Bytes that are not UTF-8 may be text in an older encoding, unless
/// they identify another type.
fn binary_type_of(head: &[u8], path: &str) -> Option<String> {
    let is_utf8 = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The head may end inside a character.
        Err(error) => error.error_len().is_none(),
    };
    // The file name would turn unknown content into text in an older encoding.
    let is_unknown = content_type_of("", head) == "application/octet-stream";
    let is_text = !head.contains(&0) && (is_utf8 || is_unknown);
    (!is_text).then(|| content_type_of(&file_name(path), head))
}

impl Lines {
    /// Reads lines. The lines after them are only counted.
    pub(super) fn read(file: File, wanted: &Wanted) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(64 * 1024, file.take(MAX_SCANNED_BYTES));
        let mut lines = Self::default();
        let (mut number, mut is_full) = (0, false);
        let mut line = Vec::new();
        loop {
            line.clear();
            let length = read_line(&mut reader, &mut line)?;
            if length == 0 {
                break;
            }
            if number >= wanted.offset && lines.count < wanted.lines && !is_full {
                is_full = !lines.add(&line, length, wanted.bytes);
            }
            number += 1;
        }
        lines.total = (reader.get_ref().limit() > 0).then_some(number);
        Ok(lines)
    }

    /// Adds a line, unless the text would become too long. The first line always fits.
    fn add(&mut self, line: &[u8], length: u64, most: usize) -> bool {
        let mut text = to_text(line);
        self.has_replaced |= std::str::from_utf8(line).is_err() && length == line.len() as u64;
        let missing = length - line.len() as u64;
        if missing > 0 {
            self.has_cut = true;
            text.truncate(text.floor_char_boundary(MAX_LINE_BYTES.min(most)));
            text += &format!(" [… {missing} more bytes of this line …]\n");
        }
        if self.count > 0 && self.text.len() + text.len() > most {
            return false;
        }
        self.text += &text;
        self.count += 1;
        true
    }
}

/// Reads the part of a line that is shown into `line`, with its line end. Returns the length of the whole line.
fn read_line(reader: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<u64> {
    let mut length = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(length);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(buffer.len(), |end| end + 1);
        let room = (MAX_LINE_BYTES + 1).saturating_sub(line.len()).min(count);
        line.extend_from_slice(&buffer[..room]);
        reader.consume(count);
        length += count as u64;
        if end.is_some() {
            return Ok(length);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(content: &[u8], offset: u64, lines: u64, bytes: usize) -> Lines {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file.rewind().unwrap();
        let wanted = Wanted {
            offset,
            lines,
            bytes,
        };
        Lines::read(file, &wanted).unwrap()
    }

    #[test]
    fn lines_are_counted_from_zero_and_keep_their_ends() {
        let three = b"a\r\nb\nc";
        let all = read(three, 0, 10, 100);
        assert_eq!(
            (&*all.text, all.count, all.total),
            ("a\r\nb\nc", 3, Some(3))
        );
        let middle = read(three, 1, 1, 100);
        assert_eq!((&*middle.text, middle.count), ("b\n", 1));
        let beyond = read(three, 3, 1, 100);
        assert_eq!(
            (&*beyond.text, beyond.count, beyond.total),
            ("", 0, Some(3))
        );
        assert_eq!(read(b"", 0, 5, 100).total, Some(0));
        assert_eq!(read(b"\n", 0, 5, 100).total, Some(1));
    }

    #[test]
    fn long_lines_and_long_texts_are_cut_and_some_of_both_is_always_shown() {
        let long = format!("{}€\nnext\n", "x".repeat(MAX_LINE_BYTES - 1));
        let cut = read(long.as_bytes(), 0, 2, 100_000);
        assert!(
            cut.has_cut && !cut.has_replaced,
            "the cut went through a character"
        );
        assert!(
            cut.text
                .contains("x [… 2 more bytes of this line …]\nnext\n"),
            "{}",
            cut.text
        );
        let few = read(b"one\ntwo\nthree\nfour\n", 0, 10, 10);
        assert_eq!(
            (&*few.text, few.count, few.total),
            ("one\ntwo\n", 2, Some(4))
        );
        let first = read(&b"x".repeat(1_000_000), 0, 10, 10);
        assert_eq!(first.count, 1);
        assert!(first.text.len() < 100);
    }

    #[test]
    fn text_of_an_older_encoding_is_shown_and_what_is_binary_is_named() {
        let latin = read(b"caf\xe9\n", 0, 1, 100);
        assert_eq!((&*latin.text, latin.has_replaced), ("caf\u{fffd}\n", true));
        let kind = |head: &[u8]| binary_type_of(head, "a.txt");
        for text in [
            &b""[..],
            b"a",
            b"caf\xe9",
            b"half \xe2\x82",
            b"%PDF-1.4 in letters",
        ] {
            assert_eq!(kind(text), None, "{text:?}");
        }
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR").unwrap(), "image/png");
        assert_eq!(
            kind(b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n").unwrap(),
            "application/pdf"
        );
        assert_eq!(kind(b"a\0b").unwrap(), "application/octet-stream");
    }
}
