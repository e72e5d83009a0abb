//! The collector for the files of an archive or a folder, with limits.

use super::limits::{MAX_FILE_BYTES, MAX_FILES, MAX_SKILL_FILE_BYTES, MAX_TOTAL_BYTES};
use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use bytes::Bytes;
use unicode_normalization::UnicodeNormalization;

use super::{FilePath, Files, FilesError, FilesRefusal, PathError, SKILL_FILE, SkillFile};

/// The maximum number of entries in an archive, including folders and ignored files.
pub(super) const MAX_ENTRIES: usize = 2_000;

/// The type of an entry in an archive or a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::skill) enum SkillEntryKind {
    File { is_executable: bool },
    Folder,
    Link,
    Special,
}

impl SkillEntryKind {
    /// Derives the entry type from a Unix file mode.
    pub(super) fn of_mode(mode: u32) -> Self {
        match mode & 0o170_000 {
            0 | 0o100_000 => Self::File {
                is_executable: mode & 0o111 != 0,
            },
            0o040_000 => Self::Folder,
            0o120_000 => Self::Link,
            _ => Self::Special,
        }
    }
}

/// Collects files one by one and checks them.
#[derive(Default)]
pub(in crate::skill) struct Collector {
    files: BTreeMap<FilePath, SkillFile>,
    /// All paths and their parent folders, in their first spelling. The key is the [`fold`] of the path.
    spelled: HashMap<String, Spelled>,
    entries: usize,
    bytes: usize,
}

struct Spelled {
    path: String,
    is_folder: bool,
}

impl Collector {
    /// Adds an entry. Reads its content only up to the size limits.
    pub(in crate::skill) fn add(
        &mut self,
        raw: &[u8],
        kind: SkillEntryKind,
        content: impl Read,
    ) -> Result<(), FilesError> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(FilesError::of_all(FilesRefusal::TooMany));
        }
        let path = FilePath::parse(raw).map_err(|error| FilesError::of(raw, error))?;
        let is_executable = match kind {
            SkillEntryKind::Link => return Err(FilesError::of(raw, FilesRefusal::Link)),
            SkillEntryKind::Special => return Err(FilesError::of(raw, FilesRefusal::Special)),
            SkillEntryKind::Folder => None,
            SkillEntryKind::File { is_executable } => Some(is_executable),
        };
        // The root folder itself, which cannot be a file.
        let Some(path) = path else {
            return match is_executable {
                None => Ok(()),
                Some(_) => Err(FilesError::of(raw, PathError::Empty)),
            };
        };
        if path.is_ignored() {
            return Ok(());
        }
        self.spell(&path, is_executable.is_none())?;
        let Some(is_executable) = is_executable else {
            return Ok(());
        };
        if self.files.len() == MAX_FILES {
            return Err(FilesError::of_all(FilesRefusal::TooMany));
        }
        let content = self.read(&path, content)?;
        let file = SkillFile {
            is_executable,
            content,
        };
        self.files.insert(path, file);
        Ok(())
    }

    /// Returns the collected files.
    pub(in crate::skill) fn finish(self) -> Files {
        Files(self.files)
    }

    /// Records the path and its parent folders. Fails if an earlier path is the same name on some system.
    fn spell(&mut self, path: &FilePath, is_folder: bool) -> Result<(), FilesError> {
        let error = |refusal| FilesError::of(path.as_str().as_bytes(), refusal);
        let folders = path.folders().map(|folder| (folder, true));
        for (place, is_folder) in folders.chain([(path.as_str(), is_folder)]) {
            let is_last = place.len() == path.as_str().len();
            let folded = fold(place);
            match self.spelled.get(&folded) {
                None => {
                    let spelled = Spelled {
                        path: place.to_owned(),
                        is_folder,
                    };
                    self.spelled.insert(folded, spelled);
                }
                Some(other) if other.path != place => {
                    return Err(error(FilesRefusal::SameName(other.path.clone())));
                }
                Some(other) if other.is_folder != is_folder => {
                    return Err(error(FilesRefusal::FileAndFolder));
                }
                Some(_) if is_last && !is_folder => return Err(error(FilesRefusal::Twice)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Reads to the end of the content or to the size limit. Ignores the size in the archive's headers.
    fn read(&mut self, path: &FilePath, content: impl Read) -> Result<Bytes, FilesError> {
        let error = |refusal| FilesError::of(path.as_str().as_bytes(), refusal);
        let (cap, refusal) = match path.as_str() {
            SKILL_FILE => (MAX_SKILL_FILE_BYTES, FilesRefusal::SkillFileTooLarge),
            _ => (MAX_FILE_BYTES, FilesRefusal::FileTooLarge),
        };
        let room = MAX_TOTAL_BYTES - self.bytes;
        let mut bytes = Vec::new();
        let limit = cap.min(room) as u64 + 1;
        content.take(limit).read_to_end(&mut bytes).map_err(
            |cause| match FilesRefusal::from_io(&cause) {
                Some(refusal) => FilesError::of_all(refusal),
                None => error(FilesRefusal::Broken(cause.to_string())),
            },
        )?;
        if bytes.len() > cap {
            return Err(error(refusal));
        }
        if bytes.len() > room {
            return Err(FilesError::of_all(FilesRefusal::TooLarge));
        }
        self.bytes += bytes.len();
        Ok(bytes.into())
    }
}

/// Normalizes a path for comparison. Some systems ignore case, and some ignore the Unicode normalization form.
fn fold(path: &str) -> String {
    let lower = path.nfc().collect::<String>().to_lowercase();
    lower.nfc().collect()
}
