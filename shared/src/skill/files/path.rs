//! Paths of files in a skill.
//!
//! An accepted path means the same file on every system, and never leads out of the skill's folder.

use std::borrow::Borrow;
use std::fmt;

/// The longest path, so that every system and the plainest form of tar can say it.
const MAX_BYTES: usize = 150;
/// The longest name of one file or folder.
const MAX_NAME_BYTES: usize = 100;
/// Folders within folders.
const MAX_DEPTH: usize = 8;
/// Files that programs leave in folders and that are no part of a skill.
const LITTER: [&str; 4] = [".git", ".DS_Store", "__MACOSX", "__pycache__"];

/// The path of a file from the folder of its skill, with `/` between names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

/// Why a name cannot be the path of a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// Bytes that are no text.
    #[error("its name is not UTF-8")]
    NotUtf8,
    /// It names nothing.
    #[error("it has no name")]
    Empty,
    /// It begins at the root.
    #[error("its path is absolute")]
    Absolute,
    /// It has a `..`.
    #[error("its path leads through `..`")]
    Upwards,
    /// A `.` or nothing where a name should be.
    #[error("its path has an empty part")]
    EmptyPart,
    /// Some systems take it for a separator.
    #[error("its name has a backslash")]
    Backslash,
    /// Characters that nobody sees, or that mean something to a terminal.
    #[error("its name has a control character or one that cannot be seen")]
    Invisible,
    /// More than the file systems take.
    #[error("its path is too long: at most {MAX_BYTES} bytes, {MAX_NAME_BYTES} for each name")]
    TooLong,
    /// More than anybody needs.
    #[error("it lies too deep: at most {MAX_DEPTH} levels")]
    TooDeep,
}

impl FilePath {
    /// Reads a name as archives have it; `None` for the folder itself (`./`).
    pub fn parse(raw: &[u8]) -> Result<Option<Self>, PathError> {
        let text = std::str::from_utf8(raw).map_err(|_| PathError::NotUtf8)?;
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.contains('\\') {
            return Err(PathError::Backslash);
        }
        if text.contains(|char: char| char.is_control() || crate::asset::is_invisible(char)) {
            return Err(PathError::Invisible);
        }
        if text.starts_with('/') {
            return Err(PathError::Absolute);
        }
        // `tar` writes both.
        let text = text.strip_suffix('/').unwrap_or(text);
        let text = text.strip_prefix("./").unwrap_or(text);
        if is_drive(text) {
            return Err(PathError::Absolute);
        }
        if matches!(text, "." | "") {
            return Ok(None);
        }
        let parts = || text.split('/');
        if parts().any(|part| part == "..") {
            return Err(PathError::Upwards);
        }
        if parts().any(|part| part.is_empty() || part == ".") {
            return Err(PathError::EmptyPart);
        }
        if text.len() > MAX_BYTES || parts().any(|part| part.len() > MAX_NAME_BYTES) {
            return Err(PathError::TooLong);
        }
        if parts().count() > MAX_DEPTH {
            return Err(PathError::TooDeep);
        }
        Ok(Some(Self(text.to_owned())))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is something that programs leave behind in folders.
    pub fn is_litter(&self) -> bool {
        self.0.split('/').any(is_litter)
    }

    /// The folders that lead to it, the outermost first.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(end, _)| &self.0[..end])
    }

    /// The outermost folder and the path from there, if it lies in one.
    pub(super) fn split_top(&self) -> Option<(&str, Self)> {
        let (top, rest) = self.0.split_once('/')?;
        Some((top, Self(rest.to_owned())))
    }
}

/// Whether a file or folder of that name is left behind by programs.
pub(super) fn is_litter(name: &str) -> bool {
    LITTER.contains(&name)
}

/// `C:` and the like, where it is no name of ours.
fn is_drive(text: &str) -> bool {
    let mut chars = text.chars();
    chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic())
        && chars.next() == Some(':')
}

impl Borrow<str> for FilePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Component, Path};

    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Option<String>, PathError> {
        let parsed = FilePath::parse(text.as_bytes());
        parsed.map(|path| path.map(|path| path.to_string()))
    }

    #[test]
    fn a_path_is_plain_or_refused() {
        for (good, path) in [
            ("SKILL.md", Some("SKILL.md")),
            ("./scripts/a b.py", Some("scripts/a b.py")),
            ("größe/ü.txt", Some("größe/ü.txt")),
            ("a/", Some("a")),
            ("...", Some("...")),
            ("./", None),
            (".", None),
        ] {
            assert_eq!(parse(good), Ok(path.map(str::to_owned)), "{good}");
        }
        let long = "x".repeat(101);
        let (deep, wide) = (
            "a/".repeat(8) + "a",
            "abcdefgh/".repeat(7) + &"y".repeat(90),
        );
        for (bad, error) in [
            ("", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            ("/", PathError::Absolute),
            ("C:/a", PathError::Absolute),
            ("./C:", PathError::Absolute),
            ("../a", PathError::Upwards),
            ("a/../b", PathError::Upwards),
            ("..", PathError::Upwards),
            ("./..", PathError::Upwards),
            ("a//b", PathError::EmptyPart),
            ("a/./b", PathError::EmptyPart),
            ("a/.", PathError::EmptyPart),
            ("a//", PathError::EmptyPart),
            ("a\\b", PathError::Backslash),
            ("a\0b", PathError::Invisible),
            ("a\u{202e}b", PathError::Invisible),
            (&long, PathError::TooLong),
            (&wide, PathError::TooLong),
            (&deep, PathError::TooDeep),
        ] {
            assert_eq!(parse(bad), Err(error), "{bad:?}");
        }
        assert_eq!(FilePath::parse(b"\xff"), Err(PathError::NotUtf8));
    }

    proptest! {
        #[test]
        fn no_accepted_path_leads_out(raw in r"(\.|/|\\|a|\.\./|C:|\x00|é){0,12}") {
            if let Ok(Some(path)) = FilePath::parse(raw.as_bytes()) {
                let is_name = |part: Component| matches!(part, Component::Normal(_));
                prop_assert!(Path::new(path.as_str()).components().all(is_name));
                // Read again, it is the same.
                prop_assert_eq!(FilePath::parse(path.as_str().as_bytes()), Ok(Some(path.clone())));
                let parts = Path::new(path.as_str()).components().count();
                prop_assert_eq!(parts, path.folders().count() + 1);
            }
        }

        #[test]
        fn any_bytes_are_accepted_or_refused(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(Some(path)) = FilePath::parse(&raw) {
                prop_assert!(path.as_str().len() <= MAX_BYTES);
                prop_assert!(!path.as_str().starts_with('/') && !path.as_str().ends_with('/'));
            }
        }
    }
}
