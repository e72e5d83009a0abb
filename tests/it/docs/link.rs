//! Links between the documents.

use std::collections::BTreeSet;

use super::{PAGES, path, read};

/// Documents other than the pages and the READMEs of folders.
const OTHERS: [&str; 5] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "llms.txt",
];

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    let documents = PAGES.iter().chain(&OTHERS).map(|name| (*name).to_owned());
    let documents: BTreeSet<_> = documents.chain(readmes()).collect();
    assert!(documents.contains("api/README.md"), "{documents:?}");
    for document in &documents {
        let text = read(document);
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in targets(&text) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => document.clone(),
                file => format!("{folder}/{file}")
                    .trim_start_matches('/')
                    .to_owned(),
            };
            let there = path(&file).exists();
            if !there || !(heading.is_empty() || has_heading(&read(&file), heading)) {
                broken.push(format!("{document}: {target}"));
            }
        }
    }
    assert!(broken.is_empty(), "these links lead nowhere: {broken:#?}");
}

/// Returns the READMEs at the first two levels of folders.
fn readmes() -> Vec<String> {
    let mut found = Vec::new();
    for folder in folders("") {
        let below = folders(&folder);
        for folder in below.into_iter().chain([folder]) {
            let readme = format!("{folder}/README.md");
            if path(&readme).exists() {
                found.push(readme);
            }
        }
    }
    found
}

/// Returns the subfolders of a folder, without generated and hidden ones.
fn folders(parent: &str) -> Vec<String> {
    let entries = std::fs::read_dir(path(parent)).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let names = folders.map(|entry| entry.file_name().into_string().unwrap());
    let names = names.filter(|name| name != "target" && !name.starts_with('.'));
    names
        .map(|name| {
            format!("{parent}/{name}")
                .trim_start_matches('/')
                .to_owned()
        })
        .collect()
}

/// Returns the targets of the links and images of a document that are in the repository.
fn targets(text: &str) -> impl Iterator<Item = &str> {
    let inline = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    let images = text
        .split("src=\"")
        .skip(1)
        .filter_map(|rest| rest.split_once('"'));
    let all = inline.chain(images).map(|(target, _)| target);
    all.filter(|target| !target.contains("://"))
}

/// Whether the page has a heading with this GitHub anchor.
fn has_heading(page: &str, anchor: &str) -> bool {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    headings
        .map(|line| line.trim_start_matches('#').trim())
        .any(|heading| {
            let kept = heading
                .chars()
                .filter(|char| char.is_alphanumeric() || " -_".contains(*char));
            kept.collect::<String>().to_lowercase().replace(' ', "-") == anchor
        })
}
