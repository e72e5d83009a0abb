//! Programs that skills need, and the packages that bring them.

use std::collections::BTreeSet;
use std::fmt;

use super::package;

/// Something that commands may need: `pdftotext`, `python3:docx`, `pip:python-docx`, `node:docx`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// A program on the `PATH`.
    Command(String),
    /// A module that `python3` can import.
    PythonModule(String),
    /// A distribution package of Python, as a `requirements.txt` names it.
    PythonPackage(String),
    /// A package that `node` can require.
    NodePackage(String),
}

/// One of these must be there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need(pub Vec<Program>);

/// A text is no program.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is neither a program (`pdftotext`) nor a module of one (`python3:docx`, `node:docx`)"
)]
pub struct NotAProgram(String);

impl Program {
    /// Reads a name as skills write it and workers report it.
    pub fn parse(text: &str) -> Result<Self, NotAProgram> {
        let error = || NotAProgram(text.to_owned());
        let plain = |name: &str, others: &str| {
            let is_plain = |char: char| char.is_ascii_alphanumeric() || others.contains(char);
            (!name.is_empty() && name.chars().all(is_plain)).then(|| name.to_owned())
        };
        // Probes are written with these names, so no character may mean anything there.
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
    /// Reads the alternatives of a need: `magick|convert`.
    pub fn parse(text: &str) -> Result<Self, NotAProgram> {
        text.split('|')
            .map(Program::parse)
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Its alternatives as skills write them: `magick|convert`.
    pub fn as_text(&self) -> String {
        let names: Vec<_> = self.0.iter().map(Program::to_string).collect();
        names.join("|")
    }

    /// Whether one of them is installed.
    pub fn is_met(&self, installed: &BTreeSet<Program>) -> bool {
        self.0.iter().any(|program| installed.contains(program))
    }
}

/// Its alternatives, and the package that brings the first of them.
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
