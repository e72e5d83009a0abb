//! Console files, with their response headers and compressed content.

use std::collections::HashMap;
use std::io::Write;

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use include_dir::Dir;
use sha2::{Digest, Sha256};

/// The number of hash bytes in an entity tag.
const TAG_BYTES: usize = 16;

/// A file with its headers.
pub(super) struct ConsoleFile {
    pub(super) content_type: &'static str,
    pub(super) content: Bytes,
    pub(super) gzipped: Bytes,
    /// Weak, because the content is also sent compressed.
    pub(super) tag: String,
}

impl ConsoleFile {
    fn new(name: &str, content: &[u8]) -> Self {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
        let written = encoder.write_all(content).and_then(|()| encoder.finish());
        let hash = Sha256::digest(content);
        Self {
            content_type: content_type(name),
            content: Bytes::copy_from_slice(content),
            gzipped: written.expect("a vector takes all bytes").into(),
            tag: format!("W/\"{}\"", hex::encode(&hash[..TAG_BYTES])),
        }
    }

    /// Reads the latest build of a file from the source tree, if it exists.
    pub(super) fn from_disk(name: &str) -> Option<Self> {
        if name.split('/').any(|part| part == "..") {
            return None;
        }
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../console/dist");
        let content = std::fs::read(format!("{folder}/{name}")).ok()?;
        Some(Self::new(name, &content))
    }
}

/// All files by their paths.
pub(super) struct ConsoleFiles(HashMap<String, ConsoleFile>);

impl ConsoleFiles {
    /// Loads the files of an embedded folder.
    pub(super) fn embedded(folder: &Dir) -> Self {
        let files = folder.files().filter_map(|file| {
            let name = file.path().to_str()?;
            Some((name.to_owned(), ConsoleFile::new(name, file.contents())))
        });
        Self(files.collect())
    }

    pub(super) fn get(&self, name: &str) -> Option<&ConsoleFile> {
        self.0.get(name)
    }
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
