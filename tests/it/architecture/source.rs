//! The Rust sources of the repository, by crate and module.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of all crates, with their package names.
pub(super) const CRATES: [(&str, &str); 14] = [
    ("api", "api"),
    ("bench", "bench"),
    ("cli", "cli"),
    ("clients/rust", "skillet-client"),
    ("shared", "shared"),
    ("shared/wire", "skillet-wire"),
    ("telegram", "telegram"),
    ("tests", "tests"),
    ("worker", "worker"),
    ("worker/egress", "worker-egress"),
    ("worker/model", "worker-model"),
    ("worker/sandbox", "worker-sandbox"),
    ("worker/tool", "worker-tool"),
    ("worker/workspace", "worker-workspace"),
];

/// A source file.
pub(super) struct Source {
    /// The path from the root of the repository.
    pub(super) path: String,
    pub(super) text: String,
}

/// The root of the repository.
pub(super) fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().unwrap().to_owned()
}

/// Reads a file of the repository.
pub(super) fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns all source files of a crate, ordered by path.
pub(super) fn sources(folder: &str) -> Vec<Source> {
    let mut paths = Vec::new();
    // The crate `tests` contains a library and the tests.
    for part in ["src", "it", "tests", "benches"] {
        collect(&root().join(folder).join(part), &mut paths);
    }
    paths.sort();
    let sources = paths.into_iter().map(|path| Source {
        text: fs::read_to_string(&path).unwrap(),
        path: path.strip_prefix(root()).unwrap().display().to_string(),
    });
    sources.collect()
}

/// Returns the modules of a crate by their path, such as `a::b`. The root has an empty path.
pub(super) fn modules(folder: &str) -> BTreeMap<String, Source> {
    let prefix = format!("{folder}/src/");
    let has_library = root().join(&prefix).join("lib.rs").exists();
    let sources = sources(folder).into_iter().filter_map(|source| {
        let inner = source.path.strip_prefix(&prefix)?.strip_suffix(".rs")?;
        let module = match inner {
            "lib" => String::new(),
            // A binary next to a library is a separate crate.
            "main" if has_library => return None,
            "main" => String::new(),
            inner if inner.starts_with("bin/") => return None,
            inner => inner.replace('/', "::"),
        };
        Some((module, source))
    });
    sources.collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for path in entries.map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// Returns the code of a file without comments and without the tests at its end.
pub(super) fn code(text: &str) -> String {
    let mut lines = Vec::new();
    let mut attribute = false;
    for line in text.lines() {
        let trimmed = line.trim_start();
        let is_test_module = attribute && trimmed.starts_with("mod ") && trimmed.ends_with('{');
        if is_test_module {
            break;
        }
        attribute = trimmed.starts_with("#[cfg(test)]");
        let comment = if trimmed.starts_with("//") {
            Some(0)
        } else {
            line.find(" //")
        };
        lines.push(&line[..comment.unwrap_or(line.len())]);
    }
    lines.join("\n")
}
