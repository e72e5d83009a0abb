//! What the model is told before it begins.

use serde_json::{Map, Value};
use shared::skill::Skill;

use crate::model::Part;
use crate::sight::Sight;
use crate::staging::Staged;

/// The system prompt of a skill's job. `reachable` says which hosts its commands can reach, if any.
pub(crate) fn system(skill: &Skill, reachable: Option<&str>) -> String {
    let finish = if skill.outputs.is_empty() {
        "When the work is done, answer in plain text: what you did and what came of it."
    } else {
        "Files reach the person only through the set_output tools. When the work is done, answer in plain text: what \
         you made and what they should know about it."
    };
    let network = match reachable {
        None => "Commands have no network.".to_owned(),
        Some(hosts) => format!(
            "Of the network, commands reach {hosts} and nothing else, through the proxy that the environment names."
        ),
    };
    format!(
        "{}\n\n# Workspace\n\nCommands run in an empty directory of this job's own that also holds the input files. \
         Use relative paths; `/tmp` is there for what need not be kept. {network} Nobody can answer questions while you work: decide, and say what you assumed. {finish}",
        skill.instructions
    )
}

/// The first message: the person's words, then what comes with them.
pub(crate) fn first_message(
    prompt: &str,
    parameters: &Map<String, Value>,
    inputs: &[Staged],
) -> Vec<Part> {
    let mut parts = vec![Part::Text(prompt.to_owned())];
    if !parameters.is_empty() {
        parts.push(Part::Text(format!(
            "Parameters: {}",
            Value::from(parameters.clone())
        )));
    }
    if !inputs.is_empty() {
        let lines = inputs.iter().map(|input| {
            let not_shown = match &input.sight {
                Sight::Told(Some(why)) => format!(", not shown here: {why}"),
                Sight::Told(None) | Sight::Shown(_) => String::new(),
            };
            format!(
                "- {} ({}, {} bytes{not_shown})",
                input.name, input.content_type, input.size
            )
        });
        let list: Vec<_> = lines.collect();
        parts.push(Part::Text(format!(
            "Input files in the workspace:\n{}",
            list.join("\n")
        )));
    }
    parts.extend(inputs.iter().filter_map(|input| match &input.sight {
        Sight::Shown(file) => Some(Part::Media(file.clone())),
        Sight::Told(_) => None,
    }));
    parts
}
