//! Construction of a skill from its files.

use super::files::{Files, FilesError, FilesRefusal};
use super::requirements::requirements;
use super::{Skill, SkillError};

/// The maximum number of needs, and of secrets, of a skill. Each one is looked up.
const MAX_NEEDS: usize = 64;

/// The reason why a skill cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file system reported an error.
    #[error("cannot be read")]
    Io(#[from] std::io::Error),
    /// The files do not form a valid skill.
    #[error(transparent)]
    Files(#[from] FilesError),
    /// The `SKILL.md` is invalid.
    #[error("is not valid")]
    Skill(#[from] SkillError),
}

impl Skill {
    /// Reads a skill from its files. The skill's name must match the name of the folder, if the folder has one.
    pub fn read(folder: Option<&str>, files: Files) -> Result<Self, Unreadable> {
        let missing = || FilesError::of_all(FilesRefusal::NoSkillFile);
        let text = files.skill_file().ok_or_else(missing)?;
        let text = std::str::from_utf8(text).map_err(|_| SkillError::NotText)?;
        // The database does not accept NUL, and real text does not contain it.
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

    /// Unpacks an archive and reads the skill in it. Blocking.
    pub fn unpack(archive: &[u8]) -> Result<Self, Unreadable> {
        let (folder, files) = Files::unpack(archive)?;
        Self::read(folder.as_deref(), files)
    }
}
