//! Reading a skill from its files.

use super::files::{Files, FilesError, FilesRefusal};
use super::requirements::requirements;
use super::{Skill, SkillError};

/// The most needs and the most secrets of a skill: each is looked for.
const MAX_NEEDS: usize = 64;

/// Why a skill cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file system failed.
    #[error("cannot be read")]
    Io(#[from] std::io::Error),
    /// Its files are not those of a skill.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// Its text is wrong.
    #[error("is not valid")]
    Skill(#[from] SkillError),
}

impl Skill {
    /// Reads files as a skill. Its name must be that of the folder, if that has one.
    pub fn read(folder: Option<&str>, files: Files) -> Result<Self, Unreadable> {
        let missing = || FilesError::of_all(FilesRefusal::NoSkillFile);
        let text = files.skill_file().ok_or_else(missing)?;
        let text = std::str::from_utf8(text).map_err(|_| SkillError::NotText)?;
        // The database takes none, and no text has one.
        if text.contains('\0') {
            return Err(SkillError::NotText.into());
        }
        let mut skill = Self::parse_as(folder, text, files.digest())?;
        for need in requirements(&files) {
            if !skill.optional.contains(&need) {
                skill.optional.push(need);
            }
        }
        for (field, count) in [
            (
                "skillet.programs",
                skill.programs.len() + skill.optional.len(),
            ),
            ("skillet.secrets", skill.secrets.len()),
        ] {
            if count > MAX_NEEDS {
                let problem = format!("names more than {MAX_NEEDS}");
                return Err(SkillError::Field { field, problem }.into());
            }
        }
        Ok(Self { files, ..skill })
    }

    /// Unpacks an archive and reads what is in it. Blocks.
    pub fn unpack(archive: &[u8]) -> Result<Self, Unreadable> {
        let (folder, files) = Files::unpack(archive)?;
        Self::read(folder.as_deref(), files)
    }
}
