//! Reasons why files cannot be a skill.

use std::{fmt, io};

use super::PathError;
use super::capped::CapExceeded;
use super::limits::{
    MAX_FILE_BYTES, MAX_FILES, MAX_PACKED_BYTES, MAX_SKILL_FILE_BYTES, MAX_TOTAL_BYTES,
};

/// As much of a name as an error repeats.
const MAX_SHOWN_CHARS: usize = 100;

/// Files cannot be a skill: which one, and why.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub struct FilesError {
    /// The file as it was named; none if it is about all of them.
    pub path: Option<String>,
    /// The problem.
    pub refusal: FilesRefusal,
}

/// Why files cannot be a skill, in words that follow the name of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FilesRefusal {
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
    /// The same path but for upper and lower case, or for how Unicode writes a letter.
    #[error("`{0}` is there, too, which is the same name on some systems")]
    SameName(String),
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
    /// A problem with the file of that name, which may be any text.
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

    /// What is wrong with all of them.
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
    /// The refusal of a reader of ours, which other libraries have handed on.
    pub(super) fn from_io(error: &io::Error) -> Option<Self> {
        let mut cause: &(dyn std::error::Error + 'static) = error;
        loop {
            if cause.is::<CapExceeded>() {
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
