//! The files of a skill: its `SKILL.md` and the files beside it.

mod capped;
mod collect;
mod limits;
mod path;
mod refusal;
mod tar;
mod tree;
mod unpack;
mod zip;

use std::collections::BTreeMap;

use bytes::Bytes;
use sha2::{Digest, Sha256};

pub use limits::MAX_PACKED_BYTES;
pub use path::{FilePath, PathError};
pub use refusal::{FilesError, FilesRefusal};

/// The name of the file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";

/// The files of a skill, by path from its folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<FilePath, SkillFile>);

/// One of them.
#[derive(Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Whether it can be run as a program.
    pub is_executable: bool,
    /// What it holds.
    pub content: Bytes,
}

impl Files {
    /// What a skill's `SKILL.md` says, if there is one.
    pub fn skill_file(&self) -> Option<&Bytes> {
        self.0.get(SKILL_FILE).map(|file| &file.content)
    }

    /// All of them, by path.
    pub fn iter(&self) -> impl Iterator<Item = (&FilePath, &SkillFile)> {
        self.0.iter()
    }

    /// All but the `SKILL.md`, by path.
    pub fn beside(&self) -> impl Iterator<Item = (&FilePath, &SkillFile)> {
        self.0
            .iter()
            .filter(|(path, _)| path.as_str() != SKILL_FILE)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The bytes of all.
    pub fn bytes(&self) -> usize {
        self.0.values().map(|file| file.content.len()).sum()
    }

    /// All of them in the one form that they are stored in: a tar archive in the order of their paths, with
    /// nothing in it that is not in the files. Equal files make equal bytes.
    pub fn pack(&self) -> Vec<u8> {
        tar::pack(self)
    }

    /// The same as a tar.gz, to be sent.
    pub fn pack_gzip(&self) -> Vec<u8> {
        tar::pack_gzip(self)
    }

    /// SHA-256 of [`Files::pack`], hexadecimal.
    pub fn digest(&self) -> String {
        hex::encode(Sha256::digest(self.pack()))
    }

    /// The files from where their `SKILL.md` is: at the top, or in the one folder in which all are, whose name
    /// comes with them.
    fn rooted(self) -> Result<(Option<String>, Self), FilesError> {
        if self.skill_file().is_some() {
            return Ok((None, self));
        }
        let missing = || FilesError::of_all(FilesRefusal::NoSkillFile);
        let mut root: Option<String> = None;
        let mut files = BTreeMap::new();
        for (path, file) in self.0 {
            let (top, rest) = path.split_top().ok_or_else(missing)?;
            if root.get_or_insert_with(|| top.to_owned()) != top {
                return Err(missing());
            }
            files.insert(rest, file);
        }
        let files = Self(files);
        match files.skill_file() {
            Some(_) => Ok((root, files)),
            None => Err(missing()),
        }
    }
}

impl std::fmt::Debug for SkillFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mark = if self.is_executable { "x" } else { "-" };
        write!(f, "{mark} {} bytes", self.content.len())
    }
}
