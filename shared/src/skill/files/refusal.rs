//! Errors of files that do not form a valid skill.

use std::{fmt, io};

use super::PathError;
use super::capped::CapExceeded;
use super::limits::{
    MAX_FILE_BYTES, MAX_FILES, MAX_PACKED_BYTES, MAX_SKILL_FILE_BYTES, MAX_TOTAL_BYTES,
};

/// The longest part of a name that an error repeats.
const MAX_SHOWN_CHARS: usize = 100;

/// The files do not form a valid skill.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct FilesError {
    /// The name of the file. `None` if the error is about all files.
    pub path: Option<String>,
    /// The reason.
    pub refusal: FilesRefusal,
}

/// The reason why files do not form a valid skill. The message follows the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesRefusal {
    /// The path is not valid.
    #[error(transparent)]
    Path(#[from] PathError),
    /// The entry is a link.
    #[error("it is a link; a skill has files and folders only")]
    Link,
    /// The entry is a device, a pipe or a socket.
    #[error("it is neither a file nor a folder")]
    Special,
    /// The entry is encrypted.
    #[error("it is encrypted")]
    Encrypted,
    /// The same path occurs twice.
    #[error("it occurs twice")]
    Twice,
    /// The path differs from another path only in case or in its Unicode normalization form.
    #[error("`{0}` also exists and is the same name on some systems")]
    SameName(String),
    /// The path is used as a file and as a folder.
    #[error("it is a file and a folder at once")]
    FileAndFolder,
    /// The file is too large.
    #[error("it is larger than {MAX_FILE_BYTES} bytes")]
    FileTooLarge,
    /// The `SKILL.md` is too large.
    #[error(
        "it is larger than {MAX_SKILL_FILE_BYTES} bytes; move what is not always needed into other files"
    )]
    SkillFileTooLarge,
    /// There are too many files.
    #[error("the skill has more than {MAX_FILES} files, or its archive has too many entries")]
    TooMany,
    /// All files together are too large.
    #[error("the files of the skill have more than {MAX_TOTAL_BYTES} bytes in total")]
    TooLarge,
    /// The packed archive is too large.
    #[error("the archive is larger than {MAX_PACKED_BYTES} bytes")]
    PackedTooLarge,
    /// The archive format is not supported.
    #[error("this is neither a ZIP archive nor a tar.gz")]
    NotAnArchive,
    /// The archive is inconsistent or damaged.
    #[error("the archive is broken: {0}")]
    Broken(String),
    /// There is no `SKILL.md`.
    #[error(
        "there is no SKILL.md: it must be at the top, or in the one folder that holds everything"
    )]
    NoSkillFile,
    /// A folder of this machine cannot be read.
    #[error("it cannot be read: {0}")]
    Unreadable(String),
}

impl FilesError {
    /// Creates an error about one file. The name can be arbitrary bytes.
    pub(super) fn of(raw: &[u8], refusal: impl Into<FilesRefusal>) -> Self {
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

    /// Creates an error about all files.
    pub fn of_all(refusal: FilesRefusal) -> Self {
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

impl FilesRefusal {
    /// Finds the refusal behind a [`CapExceeded`] error that another library passed on.
    pub(super) fn from_io(error: &io::Error) -> Option<Self> {
        let mut cause: &(dyn std::error::Error + 'static) = error;
        loop {
            if cause.is::<CapExceeded>() {
                return Some(Self::TooLarge);
            }
            cause = match cause.downcast_ref::<io::Error>() {
                // `source` of an `io::Error` skips the error that it wraps.
                Some(error) => error.get_ref()?,
                None => cause.source()?,
            };
        }
    }
}
