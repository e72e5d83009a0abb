//! ZIP archives. Their headers are redundant, so archives with contradicting headers are refused.

use std::io::{self, Cursor};

use zip::ZipArchive;
use zip::result::ZipError;

use super::collect::{Collector, MAX_ENTRIES, SkillEntryKind};
use super::{Files, FilesError, FilesRefusal};

/// The signature of an entry in the central directory.
const ENTRY: [u8; 4] = *b"PK\x01\x02";

/// Unpacks a ZIP archive.
pub(super) fn unpack(packed: &[u8]) -> Result<Files, FilesError> {
    // The library reads the whole directory at once, so the entries are counted first. Nested archives contain
    // signatures too, so the limit is higher here.
    let entries = packed.windows(ENTRY.len()).filter(|it| *it == ENTRY);
    if entries.take(4 * MAX_ENTRIES + 1).count() > 4 * MAX_ENTRIES {
        return Err(FilesError::of_all(FilesRefusal::TooMany));
    }
    let mut archive = ZipArchive::new(Cursor::new(packed)).map_err(|error| broken(&error))?;
    if archive.has_duplicate_names() {
        let words = "two entries have the same name".to_owned();
        return Err(FilesError::of_all(FilesRefusal::Broken(words)));
    }
    let mut collector = Collector::default();
    for place in 0..archive.len() {
        let entry = archive
            .by_index_data(place)
            .map_err(|error| broken(&error))?;
        let raw = entry.name_raw().to_vec();
        let kind = match entry.unix_mode() {
            _ if entry.is_dir() => SkillEntryKind::Folder,
            Some(mode) => SkillEntryKind::of_mode(mode),
            None => SkillEntryKind::File {
                is_executable: false,
            },
        };
        if entry.encrypted() {
            return Err(FilesError::of(&raw, FilesRefusal::Encrypted));
        }
        if matches!(kind, SkillEntryKind::File { .. }) {
            let file = archive.by_index(place);
            let file = file.map_err(|error| in_entry(&raw, &error))?;
            collector.add(&raw, kind, file)?;
        } else {
            collector.add(&raw, kind, io::empty())?;
        }
    }
    // Overlapping entries can expand a small archive to a large size. Inconsistent headers can hide entries from some
    // readers.
    archive
        .validate_header_consistency()
        .map_err(|error| broken(&error))?;
    Ok(collector.finish())
}

fn broken(error: &ZipError) -> FilesError {
    FilesError::of_all(FilesRefusal::Broken(error.to_string()))
}

fn in_entry(raw: &[u8], error: &ZipError) -> FilesError {
    FilesError::of(raw, FilesRefusal::Broken(error.to_string()))
}
