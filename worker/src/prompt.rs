//! Prompts: the system prompt and the first message of a job.

mod limits;
mod programs;
mod result;
mod system;

use serde_json::{Map, Value};

use crate::attachment::Attachment;
use crate::staging::StagedInput;
use worker_model::Part;

pub(crate) use limits::limits_section;
pub(crate) use programs::{programs_section, tool_names_section};
pub(crate) use result::result_section;
pub(crate) use system::system;

/// Returns the first message: the client's prompt, then parameters and inputs.
pub(crate) fn first_message(
    prompt: &str,
    parameters: &Map<String, Value>,
    inputs: &[StagedInput],
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
            let not_shown = match &input.attachment {
                Attachment::PathOnly(Some(why)) => format!(", not shown here: {why}"),
                Attachment::PathOnly(None) | Attachment::Inline(_) => String::new(),
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
    parts.extend(inputs.iter().filter_map(|input| match &input.attachment {
        Attachment::Inline(file) => Some(Part::Media(file.clone())),
        Attachment::PathOnly(_) => None,
    }));
    parts
}

/// Returns the first message of an earlier job of the conversation. Its files are named but not attached.
pub(crate) fn earlier_message(prompt: &str, inputs: &[String]) -> Vec<Part> {
    let mut parts = vec![Part::Text(prompt.to_owned())];
    if !inputs.is_empty() {
        let list: Vec<_> = inputs.iter().map(|name| format!("- {name}")).collect();
        parts.push(Part::Text(format!("Input files:\n{}", list.join("\n"))));
    }
    parts
}
