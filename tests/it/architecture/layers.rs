//! The layers: permitted dependencies between crates, and the location of SQL.

use std::collections::BTreeSet;

use super::source::{CRATES, Source, code, read, sources};

/// The workspace crates that each crate may depend on. Add a dependency here only if the lower layer must not depend
/// on the higher one.
const ALLOWED: [(&str, &[&str]); 14] = [
    ("shared/wire", &[]),
    // External programs depend on this crate. It contains the API types and no code of the service.
    ("clients/rust", &["skillet-wire"]),
    // The Telegram bridge is a client like any other.
    ("telegram", &["skillet-client"]),
    ("shared", &["skillet-wire"]),
    ("worker/sandbox", &["shared"]),
    ("worker/model", &["shared"]),
    ("worker/egress", &["shared", "worker-sandbox"]),
    ("worker/workspace", &["shared", "worker-sandbox"]),
    (
        "worker/tool",
        &[
            "shared",
            "worker-egress",
            "worker-model",
            "worker-sandbox",
            "worker-workspace",
        ],
    ),
    (
        "worker",
        &[
            "shared",
            "worker-egress",
            "worker-model",
            "worker-sandbox",
            "worker-tool",
            "worker-workspace",
        ],
    ),
    ("api", &["shared", "skillet-wire"]),
    (
        "cli",
        &["api", "shared", "skillet-client", "telegram", "worker"],
    ),
    (
        "tests",
        &["api", "cli", "shared", "skillet-client", "worker"],
    ),
    ("bench", &["api", "cli", "shared", "tests", "worker"]),
];

/// Test and benchmark crates, which set up databases with their own SQL.
const SQL_FOR_TESTS: [&str; 2] = ["bench", "tests"];

/// The calls of the database driver that take SQL.
const QUERIES: [&str; 5] = [
    "query!(",
    "query_as!(",
    "query_scalar!(",
    "sqlx::query",
    "sqlx::raw_sql",
];

#[test]
fn crates_depend_on_lower_layers_only() {
    let mut faults = Vec::new();
    for (folder, allowed) in ALLOWED {
        let manifest = read(&format!("{folder}/Cargo.toml"));
        let dependencies = manifest.split("[dependencies]").nth(1).unwrap_or_default();
        let dependencies = dependencies.split("\n[").next().unwrap_or_default();
        let names = dependencies
            .lines()
            .filter_map(|line| line.split(['.', ' ', '=']).next());
        for name in names.filter(|name| CRATES.iter().any(|(_, package)| package == name)) {
            if !allowed.contains(&name) {
                faults.push(format!(
                    "{folder}/Cargo.toml: `{name}` is no lower layer of `{folder}`. Move the code that needs it, or take \
                     what it needs as an argument. The layers are in tests/it/architecture/layers.rs."
                ));
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn every_crate_has_a_layer() {
    let workspace = read("Cargo.toml");
    let members = workspace.split("members = [").nth(1).unwrap();
    let members = members.split(']').next().unwrap();
    let members = members.split('"').skip(1).step_by(2);
    for member in members {
        assert!(
            CRATES.iter().any(|(folder, _)| *folder == member),
            "{member}: add the crate to tests/it/architecture/source.rs"
        );
        assert!(
            ALLOWED.iter().any(|(folder, _)| *folder == member),
            "{member}: add the crate to tests/it/architecture/layers.rs"
        );
    }
}

#[test]
fn sql_is_in_the_module_of_the_database_only() {
    let mut faults = Vec::new();
    let folders = CRATES.iter().map(|(folder, _)| *folder);
    for folder in folders.filter(|folder| !SQL_FOR_TESTS.contains(folder)) {
        for Source { path, text } in sources(folder) {
            if path.starts_with("shared/src/db/") || path == "shared/src/db.rs" {
                continue;
            }
            for (number, line) in code(&text).lines().enumerate() {
                if QUERIES.iter().any(|query| line.contains(query)) {
                    let number = number + 1;
                    faults.push(format!("{path}:{number}: move the query to shared/src/db"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn only_the_module_of_the_database_and_tests_use_the_database_driver() {
    let crates = CRATES.iter();
    let users = crates.filter(|(folder, _)| {
        let manifest = read(&format!("{folder}/Cargo.toml"));
        manifest.lines().any(|line| line.starts_with("sqlx"))
    });
    let users: BTreeSet<_> = users.map(|(_, package)| *package).collect();
    // API types can also be column types if the service enables that.
    let mut allowed = vec!["shared", "skillet-wire"];
    allowed.extend(SQL_FOR_TESTS);
    allowed.sort_unstable();
    assert_eq!(
        users.into_iter().collect::<Vec<_>>(),
        allowed,
        "use `shared::db` instead of sqlx: it has `Error`, `Result`, `Pool`, `Connection` and `Transaction`"
    );
    let wrappers = format!("{{ crate = \"sqlx\", wrappers = {allowed:?} }}");
    assert!(
        read("deny.toml").contains(&wrappers),
        "deny.toml: the crates that may depend on sqlx are those of this test: {wrappers}"
    );
}

#[test]
fn unsafe_code_is_forbidden_outside_of_the_sandbox() {
    assert!(read("Cargo.toml").contains("unsafe_code = \"forbid\""));
    for (folder, _) in CRATES {
        let manifest = read(&format!("{folder}/Cargo.toml"));
        let has_workspace_lints = manifest.contains("[lints]\nworkspace = true");
        assert_eq!(
            has_workspace_lints,
            folder != "worker/sandbox",
            "{folder}/Cargo.toml: all crates but worker/sandbox have `[lints] workspace = true`"
        );
    }
}

#[test]
fn the_types_of_the_api_have_no_part_of_the_service_unless_it_asks_for_them() {
    let manifest = read("shared/wire/Cargo.toml");
    for dependency in ["sqlx", "utoipa"] {
        assert!(
            manifest.contains(&format!(
                "{dependency} = {{ workspace = true, optional = true }}"
            )),
            "shared/wire/Cargo.toml: `{dependency}` must be optional, so that clients do not depend on it"
        );
    }
    assert!(!manifest.contains("default = ["));
}
