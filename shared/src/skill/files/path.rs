//! Paths of files in a skill.
//!
//! An accepted path means the same file on every system, and never leads out of the skill's folder.

use std::borrow::Borrow;
use std::fmt;

/// The longest path in bytes. It works on every system and in the plain ustar format.
const MAX_BYTES: usize = 150;
/// The longest name of a file or folder in bytes.
const MAX_NAME_BYTES: usize = 100;
/// The maximum depth of a path.
const MAX_DEPTH: usize = 8;
/// Files and folders that programs create and that are not part of a skill.
const IGNORED_NAMES: [&str; 4] = [".git", ".DS_Store", "__MACOSX", "__pycache__"];

/// The path of a file relative to its skill's folder, with `/` as the separator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(String);

/// The reason why a name is not a valid path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The name is not UTF-8.
    #[error("its name is not UTF-8")]
    NotUtf8,
    /// The name is empty.
    #[error("it has no name")]
    Empty,
    /// The path is absolute.
    #[error("its path is absolute")]
    Absolute,
    /// The path contains `..`.
    #[error("its path contains `..`")]
    Upwards,
    /// The path contains `.` or an empty name.
    #[error("its path has an empty part")]
    EmptyPart,
    /// The name contains a backslash, which is a separator on some systems.
    #[error("its name has a backslash")]
    Backslash,
    /// The name contains invisible characters or control characters, which can affect a terminal.
    #[error("its name contains a control character or an invisible character")]
    Invisible,
    /// The path or a name is too long for file systems.
    #[error("its path is too long: at most {MAX_BYTES} bytes, {MAX_NAME_BYTES} for each name")]
    TooLong,
    /// The path has too many levels.
    #[error("its path is too deep: at most {MAX_DEPTH} levels")]
    TooDeep,
}

impl FilePath {
    /// Parses a name in the syntax of archives. Returns `None` for the root folder itself (`./`).
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
        // `tar` can write a leading `./` and a trailing `/`.
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

    /// Whether the file was left behind by a program and is not part of the skill.
    pub fn is_ignored(&self) -> bool {
        self.0.split('/').any(is_ignored)
    }

    /// The parent folders of the file, outermost first.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.0.match_indices('/').map(|(end, _)| &self.0[..end])
    }

    /// Splits off the outermost folder, if the file is in a folder.
    pub(super) fn split_top(&self) -> Option<(&str, Self)> {
        let (top, rest) = self.0.split_once('/')?;
        Some((top, Self(rest.to_owned())))
    }
}

/// Whether a file or folder with this name was left behind by a program.
pub(super) fn is_ignored(name: &str) -> bool {
    IGNORED_NAMES.contains(&name)
}

/// Whether the path begins with a Windows drive such as `C:`.
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
                // Parsing the path again gives the same path.
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
