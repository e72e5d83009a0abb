//! The packages in a skill's `requirements.txt` and `package.json`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Files, Need, Program};

/// The folders in which the two files are searched, relative to the `SKILL.md`.
const FOLDERS: [&str; 2] = ["", "scripts/"];
/// The maximum number of packages of a skill. The packages are optional, so the rest is ignored.
const MAX_PACKAGES: usize = 32;

/// The packages that a skill's files name. They are optional, because many skills name packages that they rarely use.
pub(super) fn requirements(files: &Files) -> Vec<Need> {
    let text = |name: &str| {
        let found = files.beside().find(|(path, _)| path.as_str() == name);
        found.and_then(|(_, file)| std::str::from_utf8(&file.content).ok())
    };
    let mut packages = BTreeSet::new();
    for folder in FOLDERS {
        if let Some(text) = text(&format!("{folder}requirements.txt")) {
            packages.extend(python(text));
        }
        if let Some(text) = text(&format!("{folder}package.json")) {
            packages.extend(node(text));
        }
    }
    let needs = packages.into_iter().take(MAX_PACKAGES);
    needs.map(|program| Need(vec![program])).collect()
}

/// The package names in a `requirements.txt`. Options, paths and URLs are ignored.
fn python(text: &str) -> impl Iterator<Item = Program> {
    text.lines().filter_map(|line| {
        let line = line.split('#').next()?.trim();
        let is_part = |char: char| char.is_ascii_alphanumeric() || "_-.".contains(char);
        let name = line.split(|char| !is_part(char)).next()?;
        let rest = line[name.len()..].trim_start();
        let is_path = name.starts_with(['-', '.']) || rest.starts_with([':', '/', '+']);
        let name = name.to_ascii_lowercase();
        Program::parse(&format!("pip:{name}"))
            .ok()
            .filter(|_| !is_path)
    })
}

/// The names of the dependencies in a `package.json`.
fn node(text: &str) -> Vec<Program> {
    let document: Value = serde_json::from_str(text).unwrap_or_default();
    let dependencies = document["dependencies"].as_object();
    let names = dependencies.into_iter().flat_map(|names| names.keys());
    let programs = names.map(|name| Program::parse(&format!("node:{name}")));
    programs.flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_packages_are_read_without_versions_and_options() {
        let text = "# needed\nPillow>=10.0 # images\n\nrequests[socks] ; python_version > '3'\n-r other.txt\n\
                    ./local\ngit+https://example.com/x\nhttps://example.com/x.whl\npython-docx==1.1\nname @ file:x\n";
        let names: Vec<_> = python(text).map(|program| program.to_string()).collect();
        assert_eq!(
            names,
            ["pip:pillow", "pip:requests", "pip:python-docx", "pip:name"]
        );
        let names = node(
            r#"{"dependencies": {"@scope/a": "^1", "b": "*"}, "devDependencies": {"c": "1"}}"#,
        );
        let names: Vec<_> = names.iter().map(Program::to_string).collect();
        assert_eq!(names, ["node:@scope/a", "node:b"]);
        assert_eq!(node("no JSON"), []);
    }
}
