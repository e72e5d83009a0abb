//! Debian and Python packages that skills need.

use std::fmt;

use super::Program;

/// What brings a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Package {
    Debian(&'static str),
    /// Where Debian's is missing or too old.
    Python(&'static str),
    Node(&'static str),
}

use Package::{Debian, Node, Python};

/// Programs and the packages that bring them. `scripts/install-programs` installs these.
const PACKAGES: [(&str, Package); 29] = [
    ("bash", Debian("bash")),
    ("chromium", Debian("chromium")),
    ("convert", Debian("imagemagick")),
    ("ffmpeg", Debian("ffmpeg")),
    ("ffprobe", Debian("ffmpeg")),
    ("git", Debian("git")),
    ("node", Debian("nodejs")),
    ("node:docx", Node("docx")),
    ("node:pptxgenjs", Node("pptxgenjs")),
    ("pandoc", Debian("pandoc")),
    ("pdfinfo", Debian("poppler-utils")),
    ("pdftoppm", Debian("poppler-utils")),
    ("pdftotext", Debian("poppler-utils")),
    ("python3", Debian("python3")),
    ("python3:PIL", Debian("python3-pil")),
    ("python3:docx", Debian("python3-docx")),
    ("python3:matplotlib", Debian("python3-matplotlib")),
    ("python3:numpy", Debian("python3-numpy")),
    ("python3:openpyxl", Debian("python3-openpyxl")),
    ("python3:pandas", Debian("python3-pandas")),
    ("python3:pptx", Python("python-pptx")),
    ("python3:pypdf", Debian("python3-pypdf")),
    ("python3:reportlab", Debian("python3-reportlab")),
    ("python3:sklearn", Debian("python3-sklearn")),
    ("qpdf", Debian("qpdf")),
    ("soffice", Debian("libreoffice-writer-nogui")),
    ("sqlite3", Debian("sqlite3")),
    ("unzip", Debian("unzip")),
    ("yt-dlp", Python("yt-dlp")),
];

/// The package that brings a program, if it is known.
pub(super) fn of(program: &Program) -> Option<Package> {
    let name = program.to_string();
    let found = PACKAGES.iter().find(|(known, _)| *known == name);
    found.map(|(_, package)| *package)
}

impl fmt::Display for Package {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Debian(name) => write!(f, "Debian package {name}"),
            Python(name) => write!(f, "Python package {name}"),
            Node(name) => write!(f, "Node package {name}"),
        }
    }
}
