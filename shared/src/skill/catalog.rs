//! The catalog of skills in this process: built-in skills and those of the operator's folder.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use include_dir::{Dir, include_dir};

use super::{Files, Need, Program, Skill, SkillOrigin, Unreadable};

static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/../skills");

/// All skills in this process by name.
#[derive(Clone, Debug)]
pub struct Catalog {
    skills: BTreeMap<String, Arc<Skill>>,
    /// The names of the skills that the operator's folder added or replaced.
    from_directory: BTreeSet<String>,
}

/// A skill in the catalog cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the skill in {}", path.display())]
pub struct CatalogError {
    /// The folder of the skill.
    pub path: PathBuf,
    /// The reason.
    #[source]
    pub cause: Unreadable,
}

impl Catalog {
    /// Loads the built-in skills and the skills in `directory`, which can replace built-in ones.
    pub fn load(directory: Option<&Path>) -> Result<Self, CatalogError> {
        let mut catalog = Self::built_in()?;
        let Some(directory) = directory else {
            return Ok(catalog);
        };
        let at = |path: &Path| {
            let path = path.to_owned();
            move |cause: std::io::Error| CatalogError {
                path,
                cause: cause.into(),
            }
        };
        for entry in std::fs::read_dir(directory).map_err(at(directory))? {
            let folder = entry.map_err(at(directory))?.path();
            let file = folder.join("SKILL.md");
            if !file.is_file() {
                continue;
            }
            let name = folder
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let files = Files::read(&folder).map_err(Unreadable::from);
            catalog.add(&folder, &name, files)?;
            catalog.from_directory.insert(name);
        }
        Ok(catalog)
    }

    fn built_in() -> Result<Self, CatalogError> {
        let mut catalog = Self {
            skills: BTreeMap::new(),
            from_directory: BTreeSet::new(),
        };
        for folder in BUILT_IN.dirs() {
            let name = folder.path().to_string_lossy();
            let files = Files::built_in(folder).map_err(Unreadable::from);
            catalog.add(folder.path(), &name, files)?;
        }
        Ok(catalog)
    }

    fn add(
        &mut self,
        path: &Path,
        name: &str,
        files: Result<Files, Unreadable>,
    ) -> Result<(), CatalogError> {
        let skill = files.and_then(|files| Skill::read(Some(name), files));
        let skill = skill.map_err(|cause| CatalogError {
            path: path.to_owned(),
            cause,
        })?;
        self.skills.insert(skill.name.clone(), Arc::new(skill));
        Ok(())
    }

    /// Whether the skill is built in or from the operator's folder.
    pub fn origin(&self, name: &str) -> SkillOrigin {
        if self.from_directory.contains(name) {
            SkillOrigin::Directory
        } else {
            SkillOrigin::BuiltIn
        }
    }

    /// Returns a skill by name.
    pub fn get(&self, name: &str) -> Option<&Arc<Skill>> {
        self.skills.get(name)
    }

    /// All skills, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Skill>> {
        self.skills.values()
    }

    /// The names of all skills.
    pub fn names(&self) -> Vec<String> {
        self.skills.keys().cloned().collect()
    }

    /// The programs that any skill requires or can use.
    pub fn programs(&self) -> BTreeSet<&Program> {
        self.iter()
            .flat_map(|skill| skill.programs.iter().chain(&skill.optional))
            .flat_map(|Need(any)| any)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::ToolName;

    #[test]
    fn every_built_in_skill_is_valid_and_names_only_tools_that_it_gets() {
        let catalog = Catalog::load(None).unwrap();
        assert!(catalog.get("shell").is_some());
        for skill in catalog.iter() {
            assert_eq!(skill.warnings, [""; 0], "{}", skill.name);
            assert!(!skill.is_portable, "{}", skill.name);
            assert!(
                skill.outputs.is_empty() || skill.tools.contains(&ToolName::SetOutput),
                "{} makes files without {}",
                skill.name,
                ToolName::SetOutput
            );
            // `browser` is also an English word.
            let instructions = skill.instructions.replace("`browser`", "dom_search");
            // Portable tool names are English words: "Read it again".
            for word in instructions
                .split(|char: char| !char.is_ascii_alphanumeric() && !matches!(char, '_' | '.'))
                .map(|word| word.trim_end_matches('.'))
                .filter(|word| *word != "browser" && !ToolName::is_portable(word))
            {
                let tool = ToolName::parse(word);
                assert!(
                    tool.is_err() || skill.tools.contains(&tool.unwrap()),
                    "{} names {word}",
                    skill.name
                );
            }
        }
    }

    #[test]
    fn a_folder_adds_and_replaces_skills_and_a_broken_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
            std::fs::write(folder.path().join(name).join("SKILL.md"), text).unwrap();
        };
        write(
            "shell",
            "---\nname: shell\ndescription: Mine.\nallowed-tools: shell.exec\n---\nDo it.\n",
        );
        let catalog = Catalog::load(Some(folder.path())).unwrap();
        assert_eq!(catalog.get("shell").unwrap().instructions, "Do it.");

        write("mine", "---\nname: other\ndescription: Mine.\n---\n");
        let error = anyhow::Error::new(Catalog::load(Some(folder.path())).unwrap_err());
        let expected = format!(
            "the skill in {}: is not valid: its name must be `mine` like its folder: lower-case letters, digits and single hyphens, at most 64",
            folder.path().join("mine").display(),
        );
        assert_eq!(format!("{error:#}"), expected);
    }
}
