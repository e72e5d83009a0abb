//! Tar archives: uploads, and the canonical form for stored skills.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use tar::{Archive, Builder, EntryType, Header};

use super::capped::Capped;
use super::collect::{Collector, SkillEntryKind};
use super::limits::MAX_TOTAL_BYTES;
use super::{Files, FilesError, FilesRefusal, SkillFile};

/// The maximum size of an unpacked archive: the files, and the overhead of tar. It stops decompression bombs,
/// regardless of their headers.
const MAX_STREAM_BYTES: usize = MAX_TOTAL_BYTES + 8 * 1024 * 1024;

/// Unpacks a tar.gz.
pub(super) fn unpack_gzip(packed: &[u8]) -> Result<Files, FilesError> {
    unpack(GzDecoder::new(packed))
}

/// Unpacks a tar archive.
pub(super) fn unpack(archive: impl Read) -> Result<Files, FilesError> {
    let mut archive = Archive::new(Capped {
        inner: archive,
        left: MAX_STREAM_BYTES,
    });
    let mut collector = Collector::default();
    for entry in archive.entries().map_err(|error| broken(&error))? {
        let entry = entry.map_err(|error| broken(&error))?;
        let header = entry.header();
        let mode = header.mode().map_err(|error| broken(&error))?;
        let kind = match header.entry_type() {
            EntryType::Regular => SkillEntryKind::File {
                is_executable: mode & 0o111 != 0,
            },
            EntryType::Directory => SkillEntryKind::Folder,
            EntryType::Link | EntryType::Symlink => SkillEntryKind::Link,
            // Metadata about the whole archive, which `git archive` writes.
            EntryType::XGlobalHeader => continue,
            _ => SkillEntryKind::Special,
        };
        let raw = entry.path_bytes().into_owned();
        collector.add(&raw, kind, entry)?;
    }
    Ok(collector.finish())
}

fn broken(error: &std::io::Error) -> FilesError {
    let refusal = FilesRefusal::from_io(error);
    FilesError::of_all(refusal.unwrap_or_else(|| FilesRefusal::Broken(error.to_string())))
}

/// Packs files so that equal files produce equal bytes: plain headers, ordered by path, without times, owners and
/// folders.
pub(super) fn pack(files: &Files) -> Vec<u8> {
    const HOLDS: &str = "the paths are short enough, and memory takes all";
    let mut builder = Builder::new(Vec::new());
    for (path, file) in &files.0 {
        let mut header = Header::new_ustar();
        header.set_path(path.as_str()).expect(HOLDS);
        header.set_entry_type(EntryType::Regular);
        header.set_mode(mode(file));
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(file.content.len() as u64);
        header.set_cksum();
        builder.append(&header, &*file.content).expect(HOLDS);
    }
    builder.into_inner().expect(HOLDS)
}

/// Packs files like [`pack`] and compresses the archive.
pub(super) fn pack_gzip(files: &Files) -> Vec<u8> {
    const HOLDS: &str = "memory takes all";
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&pack(files)).expect(HOLDS);
    encoder.finish().expect(HOLDS)
}

fn mode(file: &SkillFile) -> u32 {
    if file.is_executable { 0o755 } else { 0o644 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skill::files::FilePath;

    fn files(named: &[(&str, bool, &str)]) -> Files {
        let files = named.iter().map(|(path, is_executable, content)| {
            let file = SkillFile {
                is_executable: *is_executable,
                content: content.as_bytes().to_vec().into(),
            };
            let path = FilePath::parse(path.as_bytes()).unwrap().unwrap();
            (path, file)
        });
        Files(files.collect())
    }

    #[test]
    fn the_stored_form_is_read_as_it_was_and_never_changes() {
        let all = [
            ("SKILL.md", false, "a"),
            ("scripts/run.sh", true, "#!/bin/sh\n"),
        ];
        let one = files(&all);
        assert_eq!(unpack(&*one.pack()).unwrap(), one);
        // The digest identifies a version. If it changed, every skill would get a new version.
        assert_eq!(one.digest(), DIGEST);
        let changes = [
            [("SKILL.md", false, "b"), all[1]],
            [all[0], ("scripts/run.sh", false, "#!/bin/sh\n")],
            [all[0], ("scripts/run2.sh", true, "#!/bin/sh\n")],
        ];
        for changed in changes {
            assert_ne!(files(&changed).digest(), one.digest());
        }
    }

    #[test]
    fn every_path_that_is_accepted_can_be_stored() {
        let (long, wide) = ("y".repeat(95), "x".repeat(54));
        for path in [
            format!("{wide}/{long}"),
            format!("{long}/{wide}"),
            format!("{}/{long}/{}", "a".repeat(40), "b".repeat(13)),
            "é".repeat(50),
        ] {
            let one = files(&[(&path, false, "x")]);
            assert_eq!(unpack(&*one.pack()).unwrap(), one, "{path}");
        }
    }

    const DIGEST: &str = "0b438e9788f84d4e48797cec1fa90877d945bc22020c1fee67cf786f295ca7d6";
}
