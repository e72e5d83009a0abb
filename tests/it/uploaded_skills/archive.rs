//! Archives that are written byte by byte, because tools refuse to create invalid ones.

use std::io::Write;

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};

/// A tar archive (POSIX ustar).
#[derive(Clone, Default)]
pub(crate) struct Tar(Vec<u8>);

impl Tar {
    pub(crate) fn file(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.entry(b'0', name.as_bytes(), 0o644, "", content.as_ref())
    }

    pub(super) fn program(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        self.entry(b'0', name.as_bytes(), 0o755, "", content.as_ref())
    }

    pub(super) fn folder(self, name: &str) -> Self {
        self.entry(b'5', name.as_bytes(), 0o755, "", b"")
    }

    /// Adds an entry of any type.
    pub(super) fn entry(
        mut self,
        kind: u8,
        name: &[u8],
        mode: u32,
        link: &str,
        content: &[u8],
    ) -> Self {
        let mut header = [0_u8; 512];
        let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, name);
        put(100, format!("{mode:07o}").as_bytes());
        put(108, b"0000000");
        put(116, b"0000000");
        put(124, format!("{:011o}", content.len()).as_bytes());
        put(136, b"00000000000");
        put(148, b"        ");
        put(156, &[kind]);
        put(157, link.as_bytes());
        put(257, b"ustar\x0000");
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        self.0.extend(header);
        self.0.extend(content);
        self.0.resize(self.0.len().next_multiple_of(512), 0);
        self
    }

    /// Ends the archive, and returns it compressed.
    pub(crate) fn gzip(mut self) -> Vec<u8> {
        self.0.extend([0; 1024]);
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&self.0).unwrap();
        encoder.finish().unwrap()
    }
}

/// An entry of a ZIP archive. Every field can have a wrong value.
#[derive(Clone)]
pub(super) struct Entry {
    /// The name in the central directory.
    pub(super) name: Vec<u8>,
    /// The name before the data.
    pub(super) local_name: Vec<u8>,
    pub(super) mode: u32,
    pub(super) flags: u16,
    pub(super) method: u16,
    pub(super) data: Vec<u8>,
    pub(super) size: u32,
    pub(super) crc: u32,
    /// The entry whose data this one has instead of its own.
    pub(super) same_as: Option<usize>,
}

impl Entry {
    /// Returns a compressed file.
    pub(crate) fn file(name: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref();
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        let mut crc = Crc::new();
        crc.update(content);
        Self {
            name: name.into(),
            local_name: name.into(),
            mode: 0o100_644,
            flags: 0,
            method: 8,
            data: encoder.finish().unwrap(),
            size: content.len() as u32,
            crc: crc.sum(),
            same_as: None,
        }
    }

    pub(super) fn with_mode(self, mode: u32) -> Self {
        Self { mode, ..self }
    }
}

/// Returns a ZIP archive of these entries.
pub(super) fn zip(entries: &[Entry]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    let mut places: Vec<u32> = Vec::new();
    for entry in entries {
        let place = match entry.same_as {
            Some(other) => places[other],
            None => {
                let place = bytes.len() as u32;
                bytes.extend(b"PK\x03\x04\x14\x00");
                fields(&mut bytes, entry);
                let length = entry.local_name.len() as u16;
                bytes.extend(length.to_le_bytes());
                bytes.extend([0; 2]);
                bytes.extend(&entry.local_name);
                bytes.extend(&entry.data);
                place
            }
        };
        places.push(place);
        // The creator is Unix, so that the mode counts.
        directory.extend(b"PK\x01\x02\x14\x03\x14\x00");
        fields(&mut directory, entry);
        directory.extend((entry.name.len() as u16).to_le_bytes());
        directory.extend([0; 8]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(place.to_le_bytes());
        directory.extend(&entry.name);
    }
    let (begin, length) = (bytes.len() as u32, directory.len() as u32);
    let count = (entries.len() as u16).to_le_bytes();
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend(count);
    bytes.extend(count);
    bytes.extend(length.to_le_bytes());
    bytes.extend(begin.to_le_bytes());
    bytes.extend([0; 2]);
    bytes
}

/// Writes the fields that both headers of an entry have in the same order.
fn fields(bytes: &mut Vec<u8>, entry: &Entry) {
    bytes.extend(entry.flags.to_le_bytes());
    bytes.extend(entry.method.to_le_bytes());
    // 1 January 1980.
    bytes.extend([0, 0, 0x21, 0]);
    bytes.extend(entry.crc.to_le_bytes());
    bytes.extend((entry.data.len() as u32).to_le_bytes());
    bytes.extend(entry.size.to_le_bytes());
}
