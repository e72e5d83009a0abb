//! The messages in the troubleshooting page.

use std::path::Path;

use super::{path, read};

#[test]
fn every_message_in_troubleshooting_is_in_the_code() {
    let mut code = String::new();
    for folder in [
        "api/src",
        "cli/src",
        "clients/rust/src",
        "shared",
        "telegram/src",
        "worker",
    ] {
        read_code(&path(folder), &mut code);
    }
    // A string may continue on the next line, and has values where the page has an ellipsis or backticks.
    let code = joined(&code).replace('`', "");
    let page = read("docs/troubleshooting.md");
    let headings = page.lines().filter_map(|line| line.strip_prefix("### "));
    let messages = headings.flat_map(|heading| heading.split('`').skip(1).step_by(2));
    let missing: Vec<_> = messages
        .filter(|message| !message.split('…').all(|part| code.contains(part.trim())))
        .collect();
    assert!(
        missing.is_empty(),
        "docs/troubleshooting.md has messages that the code does not have: {missing:#?}"
    );
}

/// Removes line breaks within string literals.
fn joined(code: &str) -> String {
    let mut parts = code.split("\\\n");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.trim_start())
}

fn read_code(folder: &Path, code: &mut String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_code(&path, code);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            code.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
}
