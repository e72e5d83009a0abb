//! The sections of the system prompt about a skill's optional programs and about tool names in its instructions.

use std::collections::BTreeSet;

use shared::skill::{Need, Program, Skill};
use shared::tool::ToolName;

/// Returns the section about the optional programs of a skill and their installation. Empty if the skill names none.
pub(crate) fn programs_section(skill: &Skill, installed: &BTreeSet<Program>) -> String {
    let (there, missing): (Vec<_>, Vec<_>) = skill
        .optional
        .iter()
        .partition(|need| need.is_met(installed));
    let names = |needs: &[&Need]| {
        let names: Vec<_> = needs
            .iter()
            .map(|need| need.as_text().replace('|', " or "))
            .collect();
        names.join(", ")
    };
    let there = match names(&there) {
        none if none.is_empty() => none,
        names => format!(" Installed: {names}."),
    };
    let missing = match names(&missing) {
        none if none.is_empty() => none,
        names => format!(
            " Not installed: {names}. Work without, and say so if the result is worse for it."
        ),
    };
    if there.is_empty() && missing.is_empty() {
        return String::new();
    }
    format!(
        "\n\n# Programs\n\nOf the programs and packages that this skill can use (`pip:` of Python, `node:` of Node):{there}{missing}"
    )
}

/// Returns the section about tool names in a skill that was written for any agent. Empty for other skills.
pub(crate) fn tool_names_section(skill: &Skill) -> String {
    if !skill.is_portable {
        return String::new();
    }
    let names = ["Bash", "Read", "Write", "Edit", "Glob", "WebFetch"];
    let pairs = names.into_iter().filter_map(|name| {
        let tool = ToolName::alias(name)?;
        let has_it = skill.tools.contains(&tool);
        has_it.then(|| format!("`{name}` is `{tool}`"))
    });
    let pairs: Vec<_> = pairs.collect();
    format!(
        "\n\n# Names of tools\n\nThe instructions may use names of other agents: {}. There is nobody to ask and no other \
         agent to start.",
        pairs.join(", ")
    )
}
