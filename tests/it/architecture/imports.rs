//! Import cycles between the files of a crate.
//!
//! The target of an import is the file that defines the item, even if a module re-exports it with `pub use`. A
//! submodule may import from the modules that contain it, because it is a part of them.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{CRATES, code, modules};

/// Module paths as segments.
type Segments = Vec<String>;

/// A name that a file imports.
struct Import {
    is_public: bool,
    path: Segments,
    /// The name in the importing file.
    name: String,
}

/// A file and its imports.
struct Module {
    /// The code without the imports.
    body: String,
    imports: Vec<Import>,
}

struct Crate {
    modules: BTreeMap<String, Module>,
}

#[test]
fn no_crate_has_an_import_cycle() {
    let mut faults = Vec::new();
    for (folder, _) in CRATES {
        for cycle in Crate::read(folder).cycles() {
            faults.push(format!(
                "{folder}: these files import each other: {}. Move what both need into a file that imports neither.",
                cycle.join(" -> ")
            ));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn files_that_import_each_other_are_found() {
    let cycles = |code: &str| {
        let sources = [
            ("", "mod a;\nmod b;"),
            ("a", "use crate::b::B;\npub struct A(B);"),
            ("b", code),
        ];
        let modules = sources.map(|(name, code)| {
            let module = Module::parse(code, &segments(name));
            (name.to_owned(), module)
        });
        let modules = BTreeMap::from(modules);
        Crate { modules }.cycles()
    };
    assert_eq!(cycles("use super::a::A;\npub struct B;"), [["a", "b", "a"]]);
    assert!(cycles("use std::fmt;\npub struct B;").is_empty());
}

impl Crate {
    fn read(folder: &str) -> Self {
        let modules = modules(folder).into_iter();
        let modules = modules.map(|(name, source)| {
            let parents = segments(&name);
            (name, Module::parse(&code(&source.text), &parents))
        });
        Self {
            modules: modules.collect(),
        }
    }

    /// Resolves a path from the root of the crate. Returns `None` if the path leads out of the crate.
    fn absolute(&self, module: &str, path: &[String]) -> Option<Segments> {
        let mut from = segments(module);
        let mut rest = path;
        match path.first()?.as_str() {
            "crate" => return Some(path[1..].to_vec()),
            "self" => rest = &path[1..],
            "super" => {
                while rest.first().is_some_and(|it| it == "super") {
                    from.pop();
                    rest = &rest[1..];
                }
            }
            first => {
                let child: Segments = from.iter().cloned().chain([first.to_owned()]).collect();
                self.modules.get(&child.join("::"))?;
            }
        }
        Some(from.into_iter().chain(rest.iter().cloned()).collect())
    }

    /// Returns the file that defines an item, through re-exports.
    fn resolve(&self, path: &[String]) -> String {
        let lengths = (0..=path.len()).rev();
        let (length, module) = lengths
            .filter_map(|it| Some((it, self.modules.get_key_value(&path[..it].join("::"))?)))
            .next()
            .expect("every crate has a root");
        let (name, module) = module;
        if let Some(item) = path.get(length)
            && let Some(import) = module
                .imports
                .iter()
                .find(|it| it.is_public && it.name == *item)
            && let Some(target) = self.absolute(name, &import.path)
            && target.len() > length
        {
            return self.resolve(&target);
        }
        name.clone()
    }

    /// Returns the files that a file imports from.
    fn targets(&self, name: &str, module: &Module) -> BTreeSet<String> {
        let mut targets = BTreeSet::new();
        let mut known: BTreeMap<&str, Segments> = BTreeMap::new();
        for import in &module.imports {
            let Some(path) = self.absolute(name, &import.path) else {
                continue;
            };
            // A re-export does not count as an import unless the file itself uses the name.
            if !import.is_public || has_word(&module.body, &import.name) {
                targets.insert(self.resolve(&path));
            }
            known.insert(&import.name, path);
        }
        for path in paths(&module.body) {
            let absolute = match known.get(path[0].as_str()) {
                Some(start) => Some(start.iter().chain(&path[1..]).cloned().collect()),
                None => self.absolute(name, &path),
            };
            targets.extend(absolute.map(|path| self.resolve(&path)));
        }
        let contains = |outer: &str| {
            outer.is_empty() || format!("{name}::").starts_with(&format!("{outer}::"))
        };
        targets.retain(|target| !contains(target));
        targets
    }

    /// Returns the import cycles, each once, as a path that returns to its first file.
    fn cycles(&self) -> Vec<Vec<String>> {
        let targets = self.modules.iter();
        let targets = targets.map(|(name, module)| (name.clone(), self.targets(name, module)));
        let targets: BTreeMap<String, BTreeSet<String>> = targets.collect();
        let mut cycles = Vec::new();
        let mut done = BTreeSet::new();
        for name in targets.keys() {
            if !done.contains(name)
                && let Some(cycle) = way_back(name, &targets)
            {
                done.extend(cycle.iter().cloned());
                cycles.push(cycle);
            }
        }
        cycles
    }
}

/// Returns the shortest path from a file back to itself.
fn way_back(start: &str, targets: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut paths = vec![vec![start.to_owned()]];
    let mut seen = BTreeSet::new();
    while !paths.is_empty() {
        let mut longer = Vec::new();
        for path in paths {
            for next in &targets[path.last()?] {
                let path: Vec<_> = path.iter().cloned().chain([next.clone()]).collect();
                if next == start {
                    return Some(path);
                }
                if seen.insert(next.clone()) {
                    longer.push(path);
                }
            }
        }
        paths = longer;
    }
    None
}

impl Module {
    fn parse(code: &str, parents: &[String]) -> Self {
        let mut imports = Vec::new();
        let mut body = String::new();
        let mut statement: Option<String> = None;
        for line in code.lines() {
            let trimmed = line.trim();
            let is_import = trimmed.starts_with("use ")
                || (trimmed.starts_with("pub")
                    && trimmed.contains(" use ")
                    && !trimmed.contains("fn "));
            match &mut statement {
                None if is_import => statement = Some(trimmed.to_owned()),
                None => {
                    body.push_str(line);
                    body.push('\n');
                }
                Some(begun) => begun.push_str(trimmed),
            }
            if let Some(whole) = statement.take_if(|it| it.ends_with(';')) {
                let (visibility, tree) = whole.split_once("use ").unwrap_or_default();
                let is_public = !visibility.is_empty();
                for path in expand(tree.trim_end_matches(';')) {
                    imports.extend(import(&path, is_public));
                }
            }
        }
        // A declared submodule is visible by its name.
        let children = body.lines().filter_map(|line| {
            let (_, name) = line.trim().strip_suffix(';')?.split_once("mod ")?;
            Some(name.to_owned())
        });
        let children: Vec<_> = children.collect();
        imports.extend(children.into_iter().map(|name| {
            Import {
                // A declaration is not an import. It counts only where the name is used.
                is_public: true,
                path: ["crate".to_owned()]
                    .into_iter()
                    .chain(parents.iter().cloned())
                    .chain([name.clone()])
                    .collect(),
                name,
            }
        }));
        Self { body, imports }
    }
}

fn import(path: &str, is_public: bool) -> Option<Import> {
    let (path, name) = path
        .split_once(" as ")
        .map_or((path, None), |(path, name)| (path, Some(name)));
    let path = path.strip_suffix("::self").unwrap_or(path);
    let path = segments(path);
    let name = name.or_else(|| path.last().map(String::as_str))?.to_owned();
    Some(Import {
        is_public,
        path,
        name,
    })
}

/// Returns the paths of a use tree.
fn expand(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.trim().to_owned()];
    };
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for letter in inner.chars() {
        match letter {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        parts.last_mut().unwrap().push(letter);
    }
    let parts = parts.iter().filter(|part| !part.trim().is_empty());
    parts
        .flat_map(|part| expand(part.trim()))
        .map(|path| format!("{}{path}", prefix.trim()))
        .collect()
}

/// Returns the paths in the code that have at least two segments.
fn paths(body: &str) -> Vec<Segments> {
    let is_path = |letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':';
    let words = body.split(|letter| !is_path(letter));
    let words = words.map(|word| word.trim_matches(':'));
    let words =
        words.filter(|word| word.contains("::") && word.starts_with(|it: char| it.is_lowercase()));
    words.map(segments).collect()
}

fn has_word(body: &str, word: &str) -> bool {
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    // The declaration of a module does not count as a use.
    let lines = body
        .lines()
        .filter(|line| !line.trim().ends_with(&format!("mod {word};")));
    lines
        .flat_map(|line| line.split(|letter| !is_word(letter)))
        .any(|it| it == word)
}

fn segments(path: &str) -> Segments {
    let parts = path
        .split("::")
        .map(str::trim)
        .filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}
