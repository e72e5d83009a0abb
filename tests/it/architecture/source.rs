//! The source text of the workspace.

use std::collections::BTreeSet;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A crate of the workspace.
pub(super) struct Crate {
    folder: PathBuf,
    manifest: String,
}

/// A source file of a crate.
pub(super) struct SourceFile {
    /// Relative to the workspace.
    pub(super) path: String,
    /// Its module, as a path like `db/log`; empty for the root of the crate.
    pub(super) module: String,
    pub(super) text: String,
}

impl Crate {
    pub(super) fn at(folder: &str) -> Self {
        let folder = Path::new(ROOT).join(folder);
        let manifest = read_to_string(folder.join("Cargo.toml")).unwrap();
        Self { folder, manifest }
    }

    /// The names of its dependencies, without those of its tests.
    fn dependencies(&self) -> impl Iterator<Item = &str> {
        let lines = self.manifest.lines();
        let section = lines.skip_while(|line| *line != "[dependencies]").skip(1);
        let section = section.take_while(|line| !line.starts_with('['));
        section.filter_map(|line| line.split(['.', ' ', '=']).next())
    }

    pub(super) fn has_dependency(&self, name: &str) -> bool {
        self.dependencies().any(|dependency| dependency == name)
    }

    /// The folders of the crates of the workspace that it depends on.
    pub(super) fn workspace_dependencies(&self) -> BTreeSet<String> {
        let folders = self.dependencies().map(|name| match name.strip_prefix("worker-") {
            Some(part) => format!("worker/{part}"),
            None => name.to_owned(),
        });
        let manifest = |folder: &String| Path::new(ROOT).join(folder).join("Cargo.toml");
        folders.filter(|folder| manifest(folder).is_file()).collect()
    }

    /// Its files of `src` and, for tests, of `it`.
    pub(super) fn files(&self) -> Vec<SourceFile> {
        let mut files = Vec::new();
        for part in ["src", "it"] {
            let root = self.folder.join(part);
            if root.is_dir() {
                collect(&root, &root, &mut files);
            }
        }
        files
    }
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) {
    for entry in read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(root, &path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let module = path.strip_prefix(root).unwrap().with_extension("");
            let is_root = ["lib", "main"].map(Path::new).contains(&module.as_path());
            files.push(SourceFile {
                module: if is_root { String::new() } else { module.display().to_string() },
                text: read_to_string(&path).unwrap(),
                path: path.display().to_string().replace(&format!("{ROOT}/"), ""),
            });
        }
    }
}

impl SourceFile {
    /// The text without comments and without the tests at the end of the file.
    pub(super) fn code(&self) -> String {
        let code = self.text.split("#[cfg(test)]\nmod tests {").next();
        let lines = code.unwrap_or_default().lines();
        let lines = lines.map(|line| line.split("//").next().unwrap_or_default());
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The module of the crate's root that the file belongs to; empty for the root.
    pub(super) fn top_module(&self) -> &str {
        self.module.split('/').next().unwrap_or_default()
    }

    /// The modules of the crate's root that the file imports.
    pub(super) fn imported_modules(&self) -> BTreeSet<String> {
        // The root declares all modules, and tests may import anything.
        if self.module.is_empty() || self.module.split('/').any(|part| part == "tests") {
            return BTreeSet::new();
        }
        let code = self.code();
        let mut modules = BTreeSet::new();
        for rest in code.split("crate::").skip(1) {
            match rest.strip_prefix('{') {
                Some(group) => modules.extend(group_heads(group)),
                None => modules.insert(identifier(rest)),
            };
        }
        modules
    }
}

/// The first names in `a::b, c::{d, e}}`, up to the brace that closes the group.
fn group_heads(group: &str) -> Vec<String> {
    let mut heads = Vec::new();
    let (mut depth, mut is_start) = (0, true);
    for (at, char) in group.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => is_start = true,
            _ if is_start && !char.is_whitespace() => {
                heads.push(identifier(&group[at..]));
                is_start = false;
            }
            _ => {}
        }
    }
    heads
}

fn identifier(text: &str) -> String {
    let is_part = |char: &char| char.is_alphanumeric() || *char == '_';
    text.chars().take_while(is_part).collect()
}
