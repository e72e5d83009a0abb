//! The files of a skill: its `SKILL.md` and all other files in its folder.

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

/// The name of the required file of a skill.
const SKILL_FILE: &str = "SKILL.md";

/// The files of a skill, by path relative to the skill's folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<FilePath, SkillFile>);

/// A file of a skill.
#[derive(Clone, PartialEq, Eq)]
pub struct SkillFile {
    /// Whether the file is executable.
    pub is_executable: bool,
    /// The content of the file.
    pub content: Bytes,
}

impl Files {
    /// The content of the skill's `SKILL.md`, if there is one.
    pub fn skill_file(&self) -> Option<&Bytes> {
        self.0.get(SKILL_FILE).map(|file| &file.content)
    }

    /// All files, ordered by path.
    pub fn iter(&self) -> impl Iterator<Item = (&FilePath, &SkillFile)> {
        self.0.iter()
    }

    /// All files except `SKILL.md`, ordered by path.
    pub fn beside(&self) -> impl Iterator<Item = (&FilePath, &SkillFile)> {
        self.0
            .iter()
            .filter(|(path, _)| path.as_str() != SKILL_FILE)
    }

    /// The number of files.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The total size of all files in bytes.
    pub fn bytes(&self) -> usize {
        self.0.values().map(|file| file.content.len()).sum()
    }

    /// Packs the files in the canonical form for storage: a tar archive, ordered by path, without other metadata.
    /// Equal files produce equal bytes.
    pub fn pack(&self) -> Vec<u8> {
        tar::pack(self)
    }

    /// Packs the same archive as a tar.gz, for transfer.
    pub fn pack_gzip(&self) -> Vec<u8> {
        tar::pack_gzip(self)
    }

    /// The SHA-256 of [`Files::pack`], in hexadecimal.
    pub fn digest(&self) -> String {
        hex::encode(Sha256::digest(self.pack()))
    }

    /// Makes the paths relative to the folder with the `SKILL.md`. This folder is the root, or the only folder at the
    /// root; in the second case its name is returned too.
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
