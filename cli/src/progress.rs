//! Progress of a job on a terminal.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde_json::Value;
use shared::event::{AssetCreated, Event, EventData, ToolCompleted, ToolOutcome, ToolStarted};

/// The longest line about a call.
const MAX_CHARS: usize = 100;
/// The time between two pictures of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// Lines on standard error; with a spinner if that is a terminal.
pub(crate) struct Progress {
    spinner: ProgressBar,
    is_terminal: bool,
    /// Lines that calls printed, by call.
    lines: HashMap<String, usize>,
}

impl Progress {
    pub(crate) fn new() -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let spinner = if is_terminal {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        let style = ProgressStyle::with_template("{spinner} {msg} {elapsed:.dim}")
            .expect("the template is valid");
        spinner.set_style(style);
        spinner.set_message("queued");
        Self {
            spinner,
            is_terminal,
            lines: HashMap::new(),
        }
    }

    /// Turns the spinner for as long as it is polled: there may be no thread for that.
    pub(crate) fn turning(&self) -> impl Future<Output = Infallible> + use<> {
        let spinner = self.spinner.clone();
        async move {
            let mut ticks = tokio::time::interval(TICK);
            loop {
                ticks.tick().await;
                spinner.tick();
            }
        }
    }

    /// Shows an event.
    pub(crate) fn show(&mut self, event: &Event) {
        // A type that this program does not know yet is for newer ones.
        let Ok(data) = event.parse() else { return };
        match data {
            EventData::JobStarted(_) => self.spinner.set_message("asking the model"),
            EventData::MessageDelta(_) => self.spinner.set_message("the model is writing"),
            EventData::ReasoningDelta(_) => self.spinner.set_message("the model is thinking"),
            EventData::MessageCompleted(_) => self.spinner.set_message("working"),
            EventData::ToolStarted(started) => self.tool_started(&started),
            EventData::ToolOutput(output) => {
                *self.lines.entry(output.call_id).or_default() += output.text.matches('\n').count();
            }
            EventData::ToolCompleted(completed) => self.tool_completed(&completed),
            EventData::AssetCreated(created) => self.asset_created(&created),
            EventData::Log(line) => self.say(&format!("! {}", line.message)),
            EventData::JobWaiting(_) => self.spinner.set_message("waiting for a person"),
            EventData::JobRetrying(retrying) => self.say(&format!("↻ {}", retrying.message)),
            _ => {}
        }
    }

    fn tool_started(&self, started: &ToolStarted) {
        let what = summary(&started.input);
        self.spinner
            .set_message(format!("{}: {what}", started.tool));
        self.say(&format!("⚡ {}: {what}", started.tool));
    }

    fn tool_completed(&mut self, completed: &ToolCompleted) {
        let seconds = completed.duration_ms as f64 / 1000.0;
        let lines = match self.lines.remove(&completed.call_id) {
            Some(1) => ", 1 line".to_owned(),
            Some(count) => format!(", {count} lines"),
            None => String::new(),
        };
        let line = match (completed.outcome, completed.exit_code) {
            (ToolOutcome::Ok, _) => format!("✓ {seconds:.1} s{lines}"),
            (ToolOutcome::Timeout, _) => format!("✗ {seconds:.1} s, its time ran out"),
            (_, Some(code)) => format!("✗ {seconds:.1} s, exit code {code}{lines}"),
            (_, None) => format!("✗ {}", first_line(&completed.output)),
        };
        self.say(&format!("  {line}"));
        self.spinner.set_message("asking the model");
    }

    fn asset_created(&self, created: &AssetCreated) {
        let asset = &created.asset;
        self.say(&format!(
            "  ⬇ {} ({}, {} bytes)",
            asset.name, asset.content_type, asset.size
        ));
    }

    /// Shows a question and leaves the rest of the line to the answer.
    pub(crate) fn ask(&mut self, question: &str) {
        self.spinner.set_draw_target(ProgressDrawTarget::hidden());
        // The spinner's last picture is still there.
        let clear = if self.is_terminal { "\r\x1b[2K" } else { "" };
        eprint!("{clear}{question}");
    }

    /// Shows again that something is going on.
    pub(crate) fn go_on(&mut self) {
        if self.is_terminal {
            self.spinner.set_draw_target(ProgressDrawTarget::stderr());
        }
    }

    /// Prints a line.
    pub(crate) fn say(&self, line: &str) {
        if self.is_terminal && !self.spinner.is_hidden() {
            self.spinner.println(line);
        } else {
            eprintln!("{line}");
        }
    }

    /// Takes the spinner away.
    pub(crate) fn finish(self) {
        self.spinner.finish_and_clear();
    }
}

/// The one argument that says most.
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
