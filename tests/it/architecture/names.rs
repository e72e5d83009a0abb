//! Unique names of types.

use std::collections::BTreeMap;

use super::source::{CRATES, code, sources};

/// Test and benchmark crates, which may repeat names.
const CRATES_FOR_TESTS: [&str; 2] = ["bench", "tests"];

/// The keywords that begin definitions.
const KEYWORDS: [&str; 3] = ["enum ", "struct ", "trait "];

#[test]
fn no_type_name_is_defined_twice() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let folders = CRATES.iter().map(|(folder, _)| *folder);
    for folder in folders.filter(|folder| !CRATES_FOR_TESTS.contains(folder)) {
        let prefix = format!("{folder}/src/");
        let sources = sources(folder).into_iter();
        for source in sources.filter(|source| is_product(&source.path, &prefix)) {
            for (number, line) in code(&source.text).lines().enumerate() {
                if let Some(name) = defined(line) {
                    let place = format!("{}:{}", source.path, number + 1);
                    places.entry(name.to_owned()).or_default().push(place);
                }
            }
        }
    }
    assert!(
        places.contains_key("Job"),
        "no definition of `Job` was found"
    );
    places.retain(|_, places| places.len() > 1);
    let faults = places.iter().map(|(name, places)| {
        format!(
            "{}: `{name}` is defined more than once. Begin the name with whose it is: `JobRow`, `AssetRow`.",
            places.join(", ")
        )
    });
    let faults: Vec<_> = faults.collect();
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Whether a file contains product code and not tests.
fn is_product(path: &str, prefix: &str) -> bool {
    path.starts_with(prefix) && !path.ends_with("/tests.rs") && !path.contains("/tests/")
}

/// Returns the name of the type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(public) if public.starts_with('(') => public.split_once(") ")?.1,
        Some(public) => public.trim_start(),
        None => line,
    };
    let name = KEYWORDS
        .iter()
        .find_map(|keyword| line.strip_prefix(keyword))?;
    let end = name.find(|char: char| !char.is_alphanumeric() && char != '_');
    // The caller of a macro chooses the name.
    Some(&name[..end.unwrap_or(name.len())]).filter(|name| !name.is_empty())
}
