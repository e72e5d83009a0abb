//! Taking in files one by one, whoever sends them: counted as they come, and refused at the first that is wrong.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::io::{self, Read};

use bytes::Bytes;

use super::{FilePath, Files, PathError, SKILL_FILE, SkillFile};

/// The largest archive.
pub const MAX_PACKED_BYTES: usize = 8 * 1024 * 1024;
/// The most files of a skill.
const MAX_FILES: usize = 500;
/// What an archive may name, folders and litter included.
pub(super) const MAX_ENTRIES: usize = 2_000;
/// The largest file, and all files together.
const MAX_FILE_BYTES: usize = 16 * 1024 * 1024;
pub(super) const MAX_TOTAL_BYTES: usize = 32 * 1024 * 1024;
/// The largest `SKILL.md`: a model reads all of it.
const MAX_SKILL_FILE_BYTES: usize = 256 * 1024;
/// As much of a name as an error repeats.
const MAX_SHOWN_CHARS: usize = 100;

/// Files cannot be a skill: which one, and why.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct FilesError {
    /// The file as it was named; none if it is about all of them.
    pub path: Option<String>,
    /// What is wrong.
    pub refusal: Refusal,
}

/// Why files cannot be a skill, in words that follow the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Its name.
    #[error(transparent)]
    Path(#[from] PathError),
    /// It leads to another.
    #[error("it is a link; a skill has files and folders only")]
    Link,
    /// A device, a pipe, a socket.
    #[error("it is neither a file nor a folder")]
    Special,
    /// Nobody here has the password.
    #[error("it is encrypted")]
    Encrypted,
    /// The same path again.
    #[error("it is there twice")]
    Twice,
    /// The same path but for upper and lower case.
    #[error("`{0}` is there, too, which is the same name on some systems")]
    CaseTwin(String),
    /// Something lies in it as if it were a folder.
    #[error("it is a file and a folder at once")]
    FileAndFolder,
    /// It is too large.
    #[error("it is larger than {MAX_FILE_BYTES} bytes")]
    FileTooLarge,
    /// The same of the file that the model reads.
    #[error(
        "it is larger than {MAX_SKILL_FILE_BYTES} bytes; put what is not always needed into files beside it"
    )]
    SkillFileTooLarge,
    /// There are too many.
    #[error("the skill has more than {MAX_FILES} files")]
    TooMany,
    /// All together are too large.
    #[error("the files of the skill are larger than {MAX_TOTAL_BYTES} bytes together")]
    TooLarge,
    /// The archive is too large before it is unpacked.
    #[error("the archive is larger than {MAX_PACKED_BYTES} bytes")]
    PackedTooLarge,
    /// It is none that we read.
    #[error("this is neither a ZIP archive nor a tar.gz")]
    NotAnArchive,
    /// It says things that do not fit together.
    #[error("the archive is broken: {0}")]
    Broken(String),
    /// It has no `SKILL.md`.
    #[error(
        "there is no SKILL.md: it must be at the top, or in the one folder that holds everything"
    )]
    NoSkillFile,
    /// A folder of this machine failed.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

impl FilesError {
    /// What is wrong with the file of that name, which may be anything.
    pub(super) fn of(raw: &[u8], refusal: impl Into<Refusal>) -> Self {
        let shown = String::from_utf8_lossy(raw);
        let plain = shown.chars().map(|char| match char {
            char if char.is_control() || crate::asset::is_invisible(char) => '\u{fffd}',
            char => char,
        });
        Self {
            path: Some(plain.take(MAX_SHOWN_CHARS).collect()),
            refusal: refusal.into(),
        }
    }

    /// What is wrong with all of them.
    pub fn of_all(refusal: Refusal) -> Self {
        Self {
            path: None,
            refusal,
        }
    }
}

impl fmt::Display for FilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{path}: {}", self.refusal),
            None => self.refusal.fmt(f),
        }
    }
}

/// What an entry of an archive or a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::skill) enum EntryKind {
    File { is_executable: bool },
    Folder,
    Link,
    Special,
}

impl EntryKind {
    /// What the mode of a file says, type and all.
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

/// Files on their way in.
#[derive(Default)]
pub(in crate::skill) struct Collector {
    files: BTreeMap<FilePath, SkillFile>,
    /// Every path and every folder on the way to one, in lower case, as it was written first.
    spelled: HashMap<String, Spelled>,
    entries: usize,
    bytes: usize,
}

struct Spelled {
    path: String,
    is_folder: bool,
}

impl Collector {
    /// Takes an entry in, reading its content no further than there is room.
    pub(in crate::skill) fn add(
        &mut self,
        raw: &[u8],
        kind: EntryKind,
        content: impl Read,
    ) -> Result<(), FilesError> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            return Err(FilesError::of_all(Refusal::TooMany));
        }
        let path = FilePath::parse(raw).map_err(|error| FilesError::of(raw, error))?;
        let is_executable = match kind {
            EntryKind::Link => return Err(FilesError::of(raw, Refusal::Link)),
            EntryKind::Special => return Err(FilesError::of(raw, Refusal::Special)),
            EntryKind::Folder => None,
            EntryKind::File { is_executable } => Some(is_executable),
        };
        // The folder itself, which is no file in any case.
        let Some(path) = path else {
            return match is_executable {
                None => Ok(()),
                Some(_) => Err(FilesError::of(raw, PathError::Empty)),
            };
        };
        if path.is_litter() {
            return Ok(());
        }
        self.spell(&path, is_executable.is_none())?;
        let Some(is_executable) = is_executable else {
            return Ok(());
        };
        if self.files.len() == MAX_FILES {
            return Err(FilesError::of_all(Refusal::TooMany));
        }
        let content = self.read(&path, content)?;
        let file = SkillFile {
            is_executable,
            content,
        };
        self.files.insert(path, file);
        Ok(())
    }

    /// What was taken in.
    pub(in crate::skill) fn finish(self) -> Files {
        Files(self.files)
    }

    /// Notes the path and all folders that lead to it, unless it is another for some system or for us.
    fn spell(&mut self, path: &FilePath, is_folder: bool) -> Result<(), FilesError> {
        let error = |refusal| FilesError::of(path.as_str().as_bytes(), refusal);
        let folders = path.folders().map(|folder| (folder, true));
        for (place, is_folder) in folders.chain([(path.as_str(), is_folder)]) {
            let is_last = place.len() == path.as_str().len();
            match self.spelled.get(&place.to_lowercase()) {
                None => {
                    let spelled = Spelled {
                        path: place.to_owned(),
                        is_folder,
                    };
                    self.spelled.insert(place.to_lowercase(), spelled);
                }
                Some(other) if other.path != place => {
                    return Err(error(Refusal::CaseTwin(other.path.clone())));
                }
                Some(other) if other.is_folder != is_folder => {
                    return Err(error(Refusal::FileAndFolder));
                }
                Some(_) if is_last && !is_folder => return Err(error(Refusal::Twice)),
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Reads to the end or to where it becomes too much: what headers say of sizes is not asked.
    fn read(&mut self, path: &FilePath, content: impl Read) -> Result<Bytes, FilesError> {
        let error = |refusal| FilesError::of(path.as_str().as_bytes(), refusal);
        let (cap, refusal) = match path.as_str() {
            SKILL_FILE => (MAX_SKILL_FILE_BYTES, Refusal::SkillFileTooLarge),
            _ => (MAX_FILE_BYTES, Refusal::FileTooLarge),
        };
        let room = MAX_TOTAL_BYTES - self.bytes;
        let mut bytes = Vec::new();
        let limit = cap.min(room) as u64 + 1;
        content
            .take(limit)
            .read_to_end(&mut bytes)
            .map_err(|cause| match Refusal::from_io(&cause) {
                Some(refusal) => FilesError::of_all(refusal),
                None => error(Refusal::Broken(cause.to_string())),
            })?;
        if bytes.len() > cap {
            return Err(error(refusal));
        }
        if bytes.len() > room {
            return Err(FilesError::of_all(Refusal::TooLarge));
        }
        self.bytes += bytes.len();
        Ok(bytes.into())
    }
}

/// A reader that refuses to go further than `left`.
pub(super) struct Capped<R> {
    pub(super) inner: R,
    pub(super) left: usize,
}

impl<R: Read> Read for Capped<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !buffer.is_empty() {
            return Err(io::Error::other(TooMuch));
        }
        let wanted = buffer.len().min(self.left);
        let count = self.inner.read(&mut buffer[..wanted])?;
        self.left -= count;
        Ok(count)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("more than there may be")]
struct TooMuch;

impl Refusal {
    /// The refusal of a reader of ours, which other libraries have handed on.
    pub(super) fn from_io(error: &io::Error) -> Option<Self> {
        let mut cause: &(dyn std::error::Error + 'static) = error;
        loop {
            if cause.is::<TooMuch>() {
                return Some(Self::TooLarge);
            }
            cause = match cause.downcast_ref::<io::Error>() {
                // What an `io::Error` was made of is not its source.
                Some(error) => error.get_ref()?,
                None => cause.source()?,
            };
        }
    }
}
