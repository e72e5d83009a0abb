//! The form of source files: their headers, their length, and the length of their lines.

use super::source::{CRATES, Source, sources};

/// Words that a header must not begin with, because it is a noun phrase and not a question.
const QUESTIONS: [&str; 9] = [
    "What", "Which", "How", "Whose", "Who", "Where", "When", "Whether", "Why",
];
const MAX_COLUMNS: usize = 120;
const MAX_LINES: usize = 400;

#[test]
fn every_file_begins_with_a_header_that_names_its_content() {
    check(|source| {
        let first = source.text.lines().next().unwrap_or_default();
        let Some(header) = first.strip_prefix("//! ") else {
            return vec![format!(
                "{}:1: begin the file with `//!` and a noun phrase that names its content",
                source.path
            )];
        };
        let first_word = header.split([' ', ',', '\'']).next().unwrap_or_default();
        match QUESTIONS.contains(&first_word) {
            true => vec![format!(
                "{}:1: begin the header with a noun and not with `{first_word}`: \"The retry delay.\"",
                source.path
            )],
            false => Vec::new(),
        }
    });
}

/// Rustfmt breaks code, but leaves comments and strings as they are.
#[test]
fn no_comment_has_more_than_120_columns() {
    check(|source| {
        let lines = source.text.lines().enumerate();
        let comments = lines.filter(|(_, line)| line.trim_start().starts_with("//"));
        let long = comments.filter(|(_, line)| line.chars().count() > MAX_COLUMNS);
        long.map(|(number, _)| {
            let line = number + 1;
            format!(
                "{}:{line}: break the comment, it has more than {MAX_COLUMNS} columns",
                source.path
            )
        })
        .collect()
    });
}

#[test]
fn no_file_has_more_than_400_lines() {
    check(|source| {
        let lines = source.text.lines().count();
        match lines > MAX_LINES {
            true => vec![format!(
                "{}: split the file by noun, it has {lines} lines and {MAX_LINES} are the most",
                source.path
            )],
            false => Vec::new(),
        }
    });
}

fn check(faults_of: impl Fn(&Source) -> Vec<String>) {
    let sources = CRATES.iter().flat_map(|(folder, _)| sources(folder));
    let faults: Vec<_> = sources.flat_map(|source| faults_of(&source)).collect();
    assert!(
        faults.is_empty(),
        "{} faults\n{}",
        faults.len(),
        faults.join("\n")
    );
}
