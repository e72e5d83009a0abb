//! Links between the documents.

use super::{PAGES, path, read};

/// Documents beside the pages.
const OTHERS: [&str; 10] = [
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "CHANGELOG.md",
    "llms.txt",
    "api/README.md",
    "deploy/README.md",
    "examples/clients/README.md",
    "worker/README.md",
    "shared/README.md",
];

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let mut broken = Vec::new();
    for document in PAGES.iter().chain(&OTHERS) {
        let text = read(document);
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in targets(&text) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = match file {
                "" => (*document).to_owned(),
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

/// What the links and images of a document lead to within the repository.
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

/// Whether the page has a heading with that anchor, as GitHub makes them.
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
