//! Programs that skills need, and the packages that contain them.

use std::collections::BTreeSet;
use std::fmt;

use super::package;

/// A program or package for commands: `pdftotext`, `python3:docx`, `pip:python-docx`, `node:docx`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// A program on the `PATH`.
    Command(String),
    /// A module that `python3` can import.
    PythonModule(String),
    /// A Python distribution package, by its name in a `requirements.txt`.
    PythonPackage(String),
    /// A package that `node` can require.
    NodePackage(String),
}

/// A need with alternatives, one of which must be installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need(pub Vec<Program>);

/// The text is not a valid program name.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is neither a program (`pdftotext`) nor a module of one (`python3:docx`, `node:docx`)"
)]
pub struct NotAProgram(String);

impl Program {
    /// Parses a name in the syntax of skills and worker reports.
    pub fn parse(text: &str) -> Result<Self, NotAProgram> {
        let error = || NotAProgram(text.to_owned());
        let plain = |name: &str, others: &str| {
            let is_plain = |char: char| char.is_ascii_alphanumeric() || others.contains(char);
            (!name.is_empty() && name.chars().all(is_plain)).then(|| name.to_owned())
        };
        // The names are inserted into probe scripts, so special characters are not allowed.
        let program = match text.split_once(':') {
            None => plain(text, "_-.+").map(Self::Command),
            Some(("python3", module)) => plain(module, "_.").map(Self::PythonModule),
            Some(("pip", name)) => plain(name, "_-.").map(Self::PythonPackage),
            Some(("node", name)) => plain(name, "_-.@/").map(Self::NodePackage),
            Some(_) => None,
        };
        program.ok_or_else(error)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Command(name) => f.write_str(name),
            Self::PythonModule(module) => write!(f, "python3:{module}"),
            Self::PythonPackage(name) => write!(f, "pip:{name}"),
            Self::NodePackage(name) => write!(f, "node:{name}"),
        }
    }
}

impl Need {
    /// Parses the alternatives of a need: `magick|convert`.
    pub fn parse(text: &str) -> Result<Self, NotAProgram> {
        text.split('|')
            .map(Program::parse)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// The alternatives in the syntax of skills: `magick|convert`.
    pub fn as_text(&self) -> String {
        let names: Vec<_> = self.0.iter().map(Program::to_string).collect();
        names.join("|")
    }

    /// Whether one of the alternatives is installed.
    pub fn is_met(&self, installed: &BTreeSet<Program>) -> bool {
        self.0.iter().any(|program| installed.contains(program))
    }
}

/// Shows the alternatives, and the package of the first alternative with a known package.
impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.iter().map(Program::to_string).collect();
        f.write_str(&names.join(" or "))?;
        match self.0.iter().find_map(package::of) {
            Some(package) => write!(f, " ({package})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_shown_as_it_was_written() {
        for text in [
            "pdftotext",
            "yt-dlp",
            "python3:docx",
            "pip:python-docx",
            "node:@scope/name",
        ] {
            assert_eq!(Program::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn a_name_that_could_mean_something_in_a_probe_is_refused() {
        for text in [
            "",
            "a b",
            "$(id)",
            "../sh",
            "ruby:x",
            "python3:",
            "python3:a'b",
            "node:a;b",
        ] {
            assert!(Program::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_said_with_its_package() {
        let shown = |text: &str| Need::parse(text).unwrap().to_string();
        assert_eq!(shown("qpdf"), "qpdf (Debian package qpdf)");
        assert_eq!(
            shown("python3:pptx"),
            "python3:pptx (Python package python-pptx)"
        );
        assert_eq!(
            shown("magick|convert"),
            "magick or convert (Debian package imagemagick)"
        );
        assert_eq!(shown("no-such-thing"), "no-such-thing");
    }
}
