//! Skill folders on this machine, and skill folders embedded in the program.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use include_dir::{Dir, DirEntry};

use super::collect::{Collector, SkillEntryKind};
use super::{Files, FilesError, FilesRefusal};

impl Files {
    /// Reads all files of a folder. Blocking.
    pub fn read(folder: &Path) -> Result<Self, FilesError> {
        let mut collector = Collector::default();
        let mut folders = vec![String::new()];
        while let Some(within) = folders.pop() {
            let error = |cause: io::Error| {
                let named = if within.is_empty() { "." } else { &within };
                FilesError::of(
                    named.as_bytes(),
                    FilesRefusal::Unreadable(cause.to_string()),
                )
            };
            for entry in fs::read_dir(folder.join(&within)).map_err(error)? {
                let name = entry.map_err(error)?.file_name();
                let raw = match name.to_str() {
                    Some(name) => join(&within, name),
                    // The collector refuses this name.
                    None => {
                        collector.add(
                            name.as_encoded_bytes(),
                            SkillEntryKind::Folder,
                            io::empty(),
                        )?;
                        continue;
                    }
                };
                if read_entry(&mut collector, folder, &raw)? {
                    folders.push(raw);
                }
            }
        }
        Ok(collector.finish())
    }

    /// Reads a folder that is embedded in the program. Embedded files have no mode, so a file that begins with `#!`
    /// counts as executable.
    pub(in crate::skill) fn built_in(folder: &Dir) -> Result<Self, FilesError> {
        let mut collector = Collector::default();
        let mut folders = vec![folder];
        while let Some(within) = folders.pop() {
            for entry in within.entries() {
                match entry {
                    DirEntry::Dir(inner) => folders.push(inner),
                    DirEntry::File(file) => {
                        let path = file.path().strip_prefix(folder.path());
                        let path = path.unwrap_or(file.path()).as_os_str();
                        let kind = SkillEntryKind::File {
                            is_executable: file.contents().starts_with(b"#!"),
                        };
                        collector.add(path.as_encoded_bytes(), kind, file.contents())?;
                    }
                }
            }
        }
        Ok(collector.finish())
    }
}

/// Adds an entry to the collector. Returns whether the entry is a folder to descend into.
fn read_entry(collector: &mut Collector, folder: &Path, raw: &str) -> Result<bool, FilesError> {
    let error = |cause: io::Error| {
        FilesError::of(raw.as_bytes(), FilesRefusal::Unreadable(cause.to_string()))
    };
    let path = folder.join(raw);
    let found = fs::symlink_metadata(&path).map_err(error)?;
    match SkillEntryKind::of_mode(found.mode()) {
        kind @ SkillEntryKind::File { .. } => {
            let file = File::open(&path).map_err(error)?;
            collector.add(raw.as_bytes(), kind, file)?;
            Ok(false)
        }
        kind => {
            collector.add(raw.as_bytes(), kind, io::empty())?;
            // Ignored folders can be large, so they are not read.
            let is_ignored = raw.rsplit('/').next().is_some_and(super::path::is_ignored);
            Ok(kind == SkillEntryKind::Folder && !is_ignored)
        }
    }
}

fn join(within: &str, name: &str) -> String {
    if within.is_empty() {
        name.to_owned()
    } else {
        format!("{within}/{name}")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_folder_is_read_with_what_lies_deeper_and_without_what_programs_left() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("scripts/deep")).unwrap();
        fs::create_dir_all(at(".git/objects")).unwrap();
        fs::create_dir_all(at("scripts/__pycache__")).unwrap();
        for name in [
            "SKILL.md",
            "scripts/deep/a.sh",
            ".git/objects/b",
            "scripts/__pycache__/c",
        ] {
            fs::write(at(name), "x").unwrap();
        }
        fs::set_permissions(at("scripts/deep/a.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        let files = Files::read(folder.path()).unwrap();
        let found: Vec<_> = files.beside().collect();
        let [(path, file)] = found[..] else {
            panic!("{found:?}")
        };
        assert_eq!(
            (path.as_str(), file.is_executable),
            ("scripts/deep/a.sh", true)
        );
        assert_eq!(files.count(), 2);

        symlink("/etc/passwd", at("scripts/link")).unwrap();
        let error = Files::read(folder.path()).unwrap_err().to_string();
        assert_eq!(
            error,
            "scripts/link: it is a link; a skill has files and folders only"
        );
    }
}
