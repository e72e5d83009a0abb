//! The tasks that a command selects.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use include_dir::{Dir, include_dir};

use super::task::{Task, TaskFile};

static BUILT_IN: Dir = include_dir!("$CARGO_MANIFEST_DIR/../examples/eval");

/// Reads the tasks from files and from the YAML files in folders, or the built-in tasks if there are no places. `only`
/// selects the tasks whose name contains one of the texts, or whose skill is one of them.
pub(super) fn read(places: &[PathBuf], only: &[String]) -> anyhow::Result<Vec<Task>> {
    let mut tasks = Vec::new();
    if places.is_empty() {
        for file in BUILT_IN.files() {
            let text = file.contents_utf8().unwrap_or_default();
            tasks.extend(parse(file.path(), text)?);
        }
    }
    for path in places
        .iter()
        .map(|place| files(place))
        .collect::<Result<Vec<_>, _>>()?
        .concat()
    {
        let text = std::fs::read_to_string(&path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        tasks.extend(parse(&path, &text)?);
    }
    let mut names = BTreeSet::new();
    if let Some(task) = tasks.iter().find(|task| !names.insert(&task.name)) {
        bail!("two tasks have the name {}", task.name);
    }
    let is_wanted = |task: &Task| {
        let has = |text: &String| task.name.contains(text) || task.skill == *text;
        only.is_empty() || only.iter().any(has)
    };
    tasks.retain(is_wanted);
    ensure!(
        !tasks.is_empty(),
        "no task matches: `skillet eval --list` lists all tasks"
    );
    Ok(tasks)
}

/// The file itself, or the YAML files of a folder, sorted by name.
fn files(place: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !place.is_dir() {
        return Ok(vec![place.to_owned()]);
    }
    let entries =
        std::fs::read_dir(place).with_context(|| format!("cannot read {}", place.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut paths = paths.collect::<std::io::Result<Vec<_>>>()?;
    paths.retain(|path| {
        path.extension()
            .is_some_and(|it| it == "yaml" || it == "yml")
    });
    paths.sort();
    ensure!(
        !paths.is_empty(),
        "{} contains no *.yaml file",
        place.display()
    );
    Ok(paths)
}

fn parse(path: &Path, text: &str) -> anyhow::Result<Vec<Task>> {
    let file: TaskFile = serde_saphyr::from_str(text).map_err(|error| {
        let error = error.to_string();
        let first = error.lines().next().unwrap_or_default();
        anyhow::anyhow!("{}: {first}", path.display())
    })?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let tasks = file.tasks.into_iter().map(|mut task| {
        for file in &mut task.files {
            *file = folder.join(&*file);
        }
        task
    });
    Ok(tasks.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tasks_of_the_repository_cover_every_skill_and_have_solutions() {
        let tasks = read(&[], &[]).unwrap();
        assert!(tasks.len() >= 40, "{}", tasks.len());
        let catalog = shared::skill::Catalog::load(None).unwrap();
        for name in catalog.names() {
            assert!(tasks.iter().any(|task| task.skill == name), "{name}");
        }
        for task in tasks {
            assert!(task.solution.is_some(), "{} has no solution", task.name);
            assert!(!task.checks.is_empty(), "{} has no check", task.name);
        }
    }

    #[test]
    fn an_error_names_the_file_and_the_line() {
        let error = parse(Path::new("a.yaml"), "tasks:\n  - name: a\n    skil: b\n");
        let error = error.err().unwrap().to_string();
        assert!(
            error.starts_with("a.yaml: ") && error.contains("skil"),
            "{error}"
        );
    }
}
