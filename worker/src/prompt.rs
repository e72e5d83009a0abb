//! What the model is told before it begins.

use bytes::Bytes;
use serde_json::{Map, Value};
use shared::skill::Skill;

use crate::model::{Media, Part};
use crate::staging::Staged;

/// The largest file that is shown to the model itself; a larger one it finds in the workspace.
const MAX_SHOWN_BYTES: u64 = 4 * 1024 * 1024;

/// The system prompt of a skill's job. `reachable` says which hosts its commands can reach, if any.
pub(crate) fn system(skill: &Skill, reachable: Option<&str>) -> String {
    let finish = if skill.outputs.is_empty() {
        "When the work is done, answer in plain text: what you did and what came of it."
    } else {
        "Files reach the person only through the set_output tools. When the work is done, answer in plain text: what \
         you made and what they should know about it."
    };
    let network = match reachable {
        None => "There is no network.".to_owned(),
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
            let shown = if input.is_shown() || !input.is_media() {
                ""
            } else {
                ", too large to be shown here"
            };
            format!(
                "- {} ({}, {} bytes{shown})",
                input.name, input.content_type, input.size
            )
        });
        let list: Vec<_> = lines.collect();
        parts.push(Part::Text(format!(
            "Input files in the workspace:\n{}",
            list.join("\n")
        )));
    }
    parts.extend(inputs.iter().filter_map(Staged::media).map(Part::Media));
    parts
}

impl Staged {
    fn is_media(&self) -> bool {
        let (top, _) = self.content_type.split_once('/').unwrap_or_default();
        matches!(top, "image" | "audio") || self.content_type == "application/pdf"
    }

    fn is_shown(&self) -> bool {
        self.is_media() && self.size <= MAX_SHOWN_BYTES
    }

    fn media(&self) -> Option<Media> {
        let data: &Bytes = self.content.as_ref()?;
        Some(Media {
            name: self.name.clone(),
            content_type: self.content_type.clone(),
            data: data.clone(),
        })
    }

    /// Whether the model should see the file itself, and the content is to be kept for that.
    pub(crate) fn wants_content(content_type: &str, size: u64) -> bool {
        let staged = Self {
            name: String::new(),
            content_type: content_type.to_owned(),
            size,
            content: None,
        };
        staged.is_shown()
    }
}
