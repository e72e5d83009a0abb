//! `skillet skills check`.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::Context;
use serde_json::json;
use shared::skill::{Files, MAX_PACKED_BYTES, Need, Program, Skill, Unreadable};
use worker::sandbox::{MemoryFloor, Mode};

use crate::exit::Exit;
use crate::output::OutputFormat;
use crate::terminal::print;

/// `skillet skills check`
pub(super) async fn check(place: &Path, output: OutputFormat) -> anyhow::Result<Exit> {
    let skill = match read(place)? {
        Ok(skill) => skill,
        Err(error) => {
            let problem = words(&error);
            let found = json!({"place": place, "valid": false, "problem": problem});
            output.one("", &found, || {
                print(&format!("✗ {}: {problem}", place.display()))
            })?;
            return Ok(Exit::Failed);
        }
    };
    let warnings = warnings(&skill);
    let installed = installed_here(&skill).await?;
    let missing = skill.missing(&installed);
    let missing_optional = skill.missing_optional(&installed);
    let found = json!({
        "place": place,
        "valid": true,
        "name": skill.name,
        "digest": skill.digest.to_string(),
        "warnings": warnings,
        "missing": missing,
        "missing_optional": missing_optional,
    });
    output.one(&skill.name, &found, || {
        show(&skill, &warnings)?;
        for (why, names) in [
            ("missing on this machine", missing),
            ("missing on this machine, and optional", missing_optional),
        ] {
            if !names.is_empty() {
                print(&format!("! {why}: {}", names.join(", ")))?;
            }
        }
        Ok(())
    })?;
    Ok(Exit::Done)
}

/// The programs of the skill that are installed on this machine.
async fn installed_here(skill: &Skill) -> anyhow::Result<BTreeSet<Program>> {
    let home = std::env::temp_dir();
    let none = worker::sandbox::open(Mode::Off, &home, Vec::new(), MemoryFloor::default());
    let sandbox = none.await?;
    let needs = skill.programs.iter().chain(&skill.optional);
    let programs = needs.flat_map(|Need(any)| any);
    Ok(worker::programs::installed(programs, &sandbox, &home).await)
}

fn show(skill: &Skill, warnings: &[String]) -> anyhow::Result<()> {
    let count = skill.files.count();
    let files = if count == 1 { "file" } else { "files" };
    print(&format!(
        "✓ {}: {count} {files}, {} bytes, digest {}",
        skill.name,
        skill.files.bytes(),
        skill.digest
    ))?;
    let tools = skill.tools.iter().map(|tool| tool.as_str());
    let secrets = skill.secrets.iter().map(ToString::to_string);
    for (title, words) in [
        ("tools", tools.map(str::to_owned).collect()),
        ("programs", skill.needs()),
        ("optional", skill.optional_needs()),
        ("network", vec![skill.network.to_string()]),
        ("secrets", secrets.collect()),
    ] {
        let words: Vec<String> = words;
        if !words.is_empty() {
            print(&format!("  {title}: {}", words.join(" ")))?;
        }
    }
    for warning in warnings {
        print(&format!("! {warning}"))?;
    }
    Ok(())
}

/// Reads a skill from a folder, which must have the name of the skill, or from an archive.
pub(super) fn read(place: &Path) -> anyhow::Result<Result<Skill, Unreadable>> {
    let cannot = || format!("cannot read {}", place.display());
    if place.is_dir() {
        let folder = place.canonicalize().with_context(cannot)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let files = Files::read(&folder).map_err(Unreadable::from);
        return Ok(files.and_then(|files| Skill::read(Some(&name), files)));
    }
    let mut archive = Vec::new();
    // One byte more than the limit shows that the archive is too large.
    let file = File::open(place).with_context(cannot)?;
    file.take(MAX_PACKED_BYTES as u64 + 1)
        .read_to_end(&mut archive)
        .with_context(cannot)?;
    Ok(Skill::unpack(&archive))
}

/// The error message. Errors of the skill itself name the file SKILL.md.
pub(super) fn words(error: &Unreadable) -> String {
    match error {
        Unreadable::Skill(error) => format!("SKILL.md: {error}"),
        error => error.to_string(),
    }
}

/// Warnings about accepted content that is probably a mistake.
pub(super) fn warnings(skill: &Skill) -> Vec<String> {
    let has = |path: &str| skill.files.beside().any(|(it, _)| it.as_str() == path);
    let named = skill
        .instructions
        .split(|char: char| char.is_whitespace() || "`\"'()[]<>,;".contains(char))
        .map(|word| word.trim_start_matches("./").trim_end_matches(['.', ':']))
        .filter(|word| {
            let folders = ["scripts/", "references/", "assets/"];
            folders
                .iter()
                .any(|folder| word.starts_with(folder) && word.len() > folder.len())
        })
        .filter(|word| word.rsplit('/').next().is_some_and(|it| it.contains('.')))
        .filter(|word| !has(word));
    let named: BTreeSet<_> = named.collect();
    let mut warnings: Vec<_> = named
        .into_iter()
        .map(|path| format!("the instructions name {path}, which does not exist"))
        .collect();
    warnings.extend_from_slice(&skill.warnings);
    if skill.tools.is_empty() {
        warnings.push("`allowed-tools` is empty: the model can only answer with text".to_owned());
    }
    warnings
}
