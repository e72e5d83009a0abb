//! Packages that contain the programs of skills.

use std::fmt;

/// The package of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Package<'a> {
    Debian(&'static str),
    /// Used if the Debian package is missing or too old.
    Python(&'a str),
}

use Package::{Debian, Python};

/// Programs and their packages. `scripts/install-programs` installs these packages.
const PACKAGES: [(&str, Package<'static>); 32] = [
    ("bash", Debian("bash")),
    ("chromium", Debian("chromium")),
    ("convert", Debian("imagemagick")),
    ("ffmpeg", Debian("ffmpeg")),
    ("ffprobe", Debian("ffmpeg")),
    ("git", Debian("git")),
    ("node", Debian("nodejs")),
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
    ("python3:pdfplumber", Python("pdfplumber")),
    ("python3:pptx", Python("python-pptx")),
    ("python3:pypdf", Debian("python3-pypdf")),
    ("python3:reportlab", Debian("python3-reportlab")),
    ("python3:sklearn", Debian("python3-sklearn")),
    ("qpdf", Debian("qpdf")),
    ("rsvg-convert", Debian("librsvg2-bin")),
    ("soffice", Debian("libreoffice-writer-nogui")),
    ("sqlite3", Debian("sqlite3")),
    ("tesseract", Debian("tesseract-ocr")),
    ("unzip", Debian("unzip")),
    ("xz", Debian("xz-utils")),
    ("yt-dlp", Python("yt-dlp")),
    ("zip", Debian("zip")),
];

/// Describes the package that contains a program, if it is known.
pub(super) fn of(program: &impl ToString) -> Option<String> {
    let name = program.to_string();
    // These names are package names already.
    if let Some(package) = name.strip_prefix("pip:") {
        return Some(Python(package).to_string());
    }
    if let Some(package) = name.strip_prefix("node:") {
        return Some(format!("Node package {package}"));
    }
    let found = PACKAGES.iter().find(|(known, _)| *known == name);
    found.map(|(_, package)| package.to_string())
}

impl fmt::Display for Package<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Debian(name) => write!(f, "Debian package {name}"),
            Python(name) => write!(f, "Python package {name}"),
        }
    }
}
