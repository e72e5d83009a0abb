//! A task: the prompt for a model, and the checks of the result.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Map, Value};

/// A task file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaskFile {
    pub(super) tasks: Vec<Task>,
}

/// A task.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Task {
    /// The unique name.
    pub(super) name: String,
    /// The skill of the job.
    pub(super) skill: String,
    /// The prompt for the model.
    pub(super) prompt: String,
    /// The parameters of the skill.
    #[serde(default)]
    pub(super) parameters: Map<String, Value>,
    /// The text of input files, by file name.
    #[serde(default)]
    pub(super) inputs: BTreeMap<String, String>,
    /// Local input files, relative to the folder of the task file.
    #[serde(default)]
    pub(super) files: Vec<PathBuf>,
    /// Commands that create input files.
    pub(super) prepare: Option<Preparation>,
    /// The JSON Schema of the result.
    pub(super) schema: Option<Value>,
    /// The files that the job must output: names, or patterns such as `*.docx`.
    #[serde(default)]
    pub(super) outputs: Vec<String>,
    /// Commands that check the result.
    #[serde(default)]
    pub(super) checks: Vec<Check>,
    /// The skill whose sandbox runs the checks, if the skill of the task cannot run commands.
    pub(super) check_skill: Option<String>,
    /// The secrets that the task needs. If one is missing, the task is skipped.
    #[serde(default)]
    pub(super) secrets: Vec<String>,
    /// The time limit of the job in seconds. Overrides the limit of the skill.
    pub(super) timeout_seconds: Option<u32>,
    /// A prompt for `script/bash` that solves the task.
    pub(super) solution: Option<String>,
}

/// Commands that create input files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Preparation {
    /// The bash script.
    pub(super) run: String,
    /// The files that the script creates.
    pub(super) makes: Vec<String>,
}

/// A command that must succeed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    /// The description of the check.
    pub(super) name: String,
    /// The bash script.
    pub(super) run: String,
}

impl Task {
    /// The first line of the prompt.
    pub(super) fn title(&self) -> &str {
        self.prompt.trim().lines().next().unwrap_or_default()
    }

    /// The skill whose sandbox creates the input files and runs the checks.
    pub(super) fn check_skill(&self) -> &str {
        self.check_skill.as_deref().unwrap_or(&self.skill)
    }
}

/// Whether a file name matches the pattern: an exact name, or an ending such as `*.docx`.
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
