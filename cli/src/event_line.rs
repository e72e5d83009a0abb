//! Events of a job as lines of text.

use std::collections::HashMap;

use serde_json::Value;
use shared::event::{AssetCreated, Event, EventData, ToolCompleted, ToolOutcome, ToolStarted};

use crate::output::seconds;
use crate::terminal::without_controls;

/// The maximum length of an argument or an output in a line.
const MAX_CHARS: usize = 100;

/// Formats events as lines.
#[derive(Default)]
pub(crate) struct EventLines {
    /// The number of lines that tool calls printed, by call id.
    printed: HashMap<String, usize>,
}

impl EventLines {
    /// The line of a step: a tool call, a file, a warning.
    pub(crate) fn step(&mut self, data: &EventData) -> Option<String> {
        match data {
            EventData::ToolStarted(started) => Some(tool_started(started)),
            EventData::ToolOutput(output) => {
                let lines = output.text.matches('\n').count();
                *self.printed.entry(output.call_id.clone()).or_default() += lines;
                None
            }
            EventData::ToolCompleted(completed) => Some(self.tool_completed(completed)),
            EventData::AssetCreated(created) => Some(asset_created(created)),
            EventData::Log(line) => Some(format!("! {}", without_controls(&line.message))),
            EventData::JobRetrying(retrying) => {
                Some(format!("↻ {}", without_controls(&retrying.message)))
            }
            _ => None,
        }
    }

    /// The lines of an event in a log: steps, messages of the model, and changes of the job's state.
    pub(crate) fn of(&mut self, event: &Event) -> Vec<String> {
        // An unknown type comes from a newer release.
        let Ok(data) = event.parse() else {
            return Vec::new();
        };
        let lines = match &data {
            EventData::MessageCompleted(message) => {
                let text = message.text();
                text.lines().map(without_controls).collect()
            }
            EventData::JobQueued(_)
            | EventData::JobStarted(_)
            | EventData::JobWaiting(_)
            | EventData::JobResumed(_)
            | EventData::JobCompleted(_)
            | EventData::JobFailed(_)
            | EventData::JobCancelled(_) => vec![format!("● {}", event.kind)],
            data => self.step(data).into_iter().collect(),
        };
        let at = event.at.format("%H:%M:%S");
        lines
            .iter()
            .map(|line| format!("{at}  {line}").trim_end().to_owned())
            .collect()
    }

    fn tool_completed(&mut self, completed: &ToolCompleted) -> String {
        let time = seconds(completed.duration_ms.try_into().unwrap_or(i64::MAX));
        let lines = match self.printed.remove(&completed.call_id) {
            Some(1) => ", 1 line".to_owned(),
            Some(count) => format!(", {count} lines"),
            None => String::new(),
        };
        match (completed.outcome, completed.exit_code) {
            (ToolOutcome::Ok, _) => format!("  ✓ {time}{lines}"),
            (ToolOutcome::Timeout, _) => format!("  ✗ {time}, timed out"),
            (ToolOutcome::Cancelled, _) => "  ✗ cancelled".to_owned(),
            (_, Some(code)) => format!("  ✗ {time}, exit code {code}{lines}"),
            (_, None) => format!("  ✗ {}", first_line(&completed.output)),
        }
    }
}

fn tool_started(started: &ToolStarted) -> String {
    format!("⚡ {}", call(started))
}

/// A tool call with its most informative argument.
pub(crate) fn call(started: &ToolStarted) -> String {
    format!(
        "{}: {}",
        without_controls(&started.tool),
        summary(&started.input)
    )
}

fn asset_created(created: &AssetCreated) -> String {
    let asset = &created.asset;
    let (name, size) = (without_controls(&asset.name), asset.size);
    format!("  ⬇ {name} ({}, {size} bytes)", asset.content_type)
}

/// The most informative argument.
fn summary(input: &Value) -> String {
    let telling = ["command", "path", "url", "query"]
        .iter()
        .find_map(|name| input[name].as_str());
    let text = telling.map_or_else(|| input.to_string(), str::to_owned);
    first_line(&text)
}

fn first_line(text: &str) -> String {
    let mut lines = text.trim().lines();
    let first = lines.next().unwrap_or_default();
    let shown: String = first
        .chars()
        .filter(|char| !char.is_control())
        .take(MAX_CHARS)
        .collect();
    let is_cut = first.chars().count() > MAX_CHARS || lines.next().is_some();
    if is_cut {
        format!("{shown} …")
    } else {
        shown
    }
}
