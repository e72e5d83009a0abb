//! Rules of the code base: dependencies between crates and modules, SQL in one place, and module headers.

mod source;

use std::collections::{BTreeMap, BTreeSet};

use source::{Crate, SourceFile};

/// The crates that each crate may depend on. `tests` and `bench` may use all.
const LAYERS: [(&str, &[&str]); 9] = [
    ("shared", &[]),
    ("worker/model", &["shared"]),
    ("worker/sandbox", &["shared"]),
    ("worker/egress", &["shared", "worker/sandbox"]),
    ("worker/workspace", &["shared", "worker/sandbox"]),
    (
        "worker/tool",
        &["shared", "worker/egress", "worker/model", "worker/sandbox", "worker/workspace"],
    ),
    (
        "worker",
        &[
            "shared",
            "worker/egress",
            "worker/model",
            "worker/sandbox",
            "worker/tool",
            "worker/workspace",
        ],
    ),
    ("api", &["shared"]),
    ("cli", &["api", "shared", "worker"]),
];

#[test]
fn crates_depend_on_lower_layers_only() {
    for (folder, allowed) in LAYERS {
        let found = Crate::at(folder).workspace_dependencies();
        let others: Vec<_> = found
            .iter()
            .filter(|name| !allowed.contains(&name.as_str()))
            .collect();
        assert!(
            others.is_empty(),
            "{folder}/Cargo.toml depends on {others:?}, which is above it or beside it. Move the shared code to a \
             lower crate, or change LAYERS in tests/it/architecture.rs."
        );
    }
}

#[test]
fn only_the_database_module_has_sql() {
    for (folder, _) in LAYERS.iter().filter(|(folder, _)| *folder != "shared") {
        assert!(
            !Crate::at(folder).has_dependency("sqlx"),
            "{folder}/Cargo.toml depends on sqlx. SQL is in shared/src/db; `shared::db::Error` is its error."
        );
    }
    for file in Crate::at("shared").files() {
        let is_sql = file.code().contains("sqlx::query");
        assert!(
            !is_sql || file.module.starts_with("db"),
            "{} has SQL. Move it to shared/src/db.",
            file.path
        );
    }
}

#[test]
fn modules_have_no_import_cycle() {
    for (folder, _) in LAYERS {
        let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for file in Crate::at(folder).files() {
            let module = file.top_module().to_owned();
            let others = file.imported_modules();
            imports.entry(module).or_default().extend(others);
        }
        // Modules without imports go first, then those that import only them, and so on.
        loop {
            let known: BTreeSet<_> = imports.keys().cloned().collect();
            let is_free = |module: &String, imported: &BTreeSet<String>| {
                imported
                    .iter()
                    .all(|other| other == module || !known.contains(other))
            };
            let before = imports.len();
            imports.retain(|module, imported| !is_free(module, imported));
            if imports.len() == before {
                break;
            }
        }
        assert!(
            imports.is_empty(),
            "modules of {folder} import one another in a circle: {imports:#?}. Move what both need to a lower module."
        );
    }
}

#[test]
fn files_begin_with_a_noun_phrase() {
    const QUESTIONS: [&str; 8] = [
        "What", "Which", "How", "Whose", "Who", "Where", "When", "Why",
    ];
    let folders = LAYERS.iter().map(|(folder, _)| *folder);
    let mut wrong = Vec::new();
    for folder in folders.chain(["bench", "tests"]) {
        for SourceFile { path, text, .. } in Crate::at(folder).files() {
            let header = text.lines().next().and_then(|line| line.strip_prefix("//! "));
            let first = header.and_then(|header| header.split([' ', ',']).next());
            if first.is_none_or(|word| QUESTIONS.contains(&word)) {
                wrong.push(path);
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "the first line of these files is no `//!` with a noun phrase that says what is in them: {wrong:#?}"
    );
}
