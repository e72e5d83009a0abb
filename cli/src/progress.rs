//! Progress of a job on a terminal.

use std::convert::Infallible;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use shared::event::{Event, EventData};
use shared::job::QueuePlace;

use crate::event_line::{EventLines, call};
use crate::queue_reason;
use crate::terminal::{say, say_without_break};

/// The time between two frames of the spinner.
const TICK: Duration = Duration::from_millis(100);

/// Lines on standard error, with a spinner if that is a terminal.
pub(crate) struct ProgressDisplay {
    spinner: ProgressBar,
    is_terminal: bool,
    lines: EventLines,
    /// The last reason that was printed.
    reason: Option<String>,
}

impl ProgressDisplay {
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
            lines: EventLines::default(),
            reason: None,
        }
    }

    /// Turns the spinner while the future is polled, because there may be no other thread to do it.
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
        // An unknown type comes from a newer release.
        let Ok(data) = event.parse() else { return };
        if let Some(line) = self.lines.step(&data) {
            self.say(&line);
        }
        let message = match &data {
            EventData::JobStarted(_) | EventData::ToolCompleted(_) => "asking the model",
            EventData::MessageDelta(_) => "the model is writing",
            EventData::ReasoningDelta(_) => "the model is thinking",
            EventData::MessageCompleted(_) => "working",
            EventData::JobWaiting(_) => "waiting for approval",
            EventData::JobRetrying(_) | EventData::JobResumed(_) => "queued",
            EventData::ToolStarted(started) => return self.spinner.set_message(call(started)),
            _ => return,
        };
        self.spinner.set_message(message);
    }

    /// Shows why the job does not run. A reason that may last is also printed once as a line.
    pub(crate) fn queued(&mut self, place: &QueuePlace) {
        let reason = queue_reason::describe(place);
        self.spinner.set_message(format!("queued: {reason}"));
        if !queue_reason::is_ordinary(place) && self.reason.as_ref() != Some(&reason) {
            self.say(&format!("queued: {reason}"));
            self.reason = Some(reason);
        }
    }

    /// Shows a question and leaves the rest of the line for the answer.
    pub(crate) fn ask(&mut self, question: &str) {
        self.spinner.set_draw_target(ProgressDrawTarget::hidden());
        // The last frame of the spinner is still on the line.
        let clear = if self.is_terminal { "\r\x1b[2K" } else { "" };
        say_without_break(&format!("{clear}{question}"));
    }

    /// Shows the spinner again.
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
            say(line);
        }
    }
}

impl Drop for ProgressDisplay {
    fn drop(&mut self) {
        self.spinner.finish_and_clear();
    }
}
