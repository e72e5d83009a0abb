//! A task: what a model is asked, and the checks of what it made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

/// The file of tasks.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskFile {
    pub(super) tasks: Vec<Task>,
}

/// A task of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Task {
    /// Its name, which no other task has.
    pub(super) name: String,
    /// The skill that its job runs.
    pub(super) skill: String,
    /// What the model is asked.
    pub(super) prompt: String,
    /// The parameters of the skill.
    #[serde(default)]
    pub(super) parameters: Map<String, Value>,
    /// Input files with their text, by name.
    #[serde(default)]
    pub(super) inputs: BTreeMap<String, String>,
    /// Input files of this machine, from the folder of the task file.
    #[serde(default)]
    pub(super) files: Vec<PathBuf>,
    /// Commands that make input files.
    pub(super) prepare: Option<Preparation>,
    /// The JSON Schema of the result.
    pub(super) schema: Option<Value>,
    /// The files that must come: names, or `*.docx`.
    #[serde(default)]
    pub(super) outputs: Vec<String>,
    /// Commands that look at what came.
    #[serde(default)]
    pub(super) checks: Vec<Check>,
    /// The skill in whose sandbox the checks run, if that of the task runs no commands.
    pub(super) check_skill: Option<String>,
    /// Secrets without which the task is skipped.
    #[serde(default)]
    pub(super) secrets: Vec<String>,
    /// The time limit of the job, if not that of the skill.
    pub(super) timeout_seconds: Option<u32>,
    /// A prompt for `script/bash` that solves the task.
    pub(super) solution: Option<String>,
}

/// Commands that make input files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Preparation {
    /// The bash script.
    pub(super) run: String,
    /// The files that it makes.
    pub(super) makes: Vec<String>,
}

/// A command that must succeed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// What it checks, in words.
    pub(super) name: String,
    /// The bash script.
    pub(super) run: String,
}

impl Task {
    /// The first line of its prompt.
    pub(super) fn title(&self) -> &str {
        self.prompt.trim().lines().next().unwrap_or_default()
    }

    /// The skill in whose sandbox its files are made and checked.
    pub(super) fn check_skill(&self) -> &str {
        self.check_skill.as_deref().unwrap_or(&self.skill)
    }
}

/// Whether a file has the name, or ends as `*.docx` says.
pub(super) fn is_like(pattern: &str, name: &str) -> bool {
    match pattern.strip_prefix('*') {
        Some(end) => name.to_lowercase().ends_with(&end.to_lowercase()),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_an_ending() {
        assert!(is_like("*.docx", "Report.DOCX") && is_like("a.txt", "a.txt"));
        assert!(!is_like("*.docx", "report.doc") && !is_like("a.txt", "A.txt"));
    }
}
