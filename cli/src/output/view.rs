//! The destination of output: a terminal, or a program that reads it.

use chrono::{DateTime, Utc};
use console::Term;

/// The destination of a table.
pub(crate) enum View {
    /// A terminal with this width. Times are relative to `now`.
    Terminal { width: usize, now: DateTime<Utc> },
    /// A file or another program.
    Pipe,
}

impl View {
    pub(crate) fn of_stdout() -> Self {
        let terminal = Term::stdout();
        if !terminal.is_term() {
            return Self::Pipe;
        }
        Self::Terminal {
            width: terminal.size().1.into(),
            now: Utc::now(),
        }
    }

    /// The current instant, if times are shown relative to it.
    pub(super) fn now(&self) -> Option<DateTime<Utc>> {
        match self {
            Self::Terminal { now, .. } => Some(*now),
            Self::Pipe => None,
        }
    }
}
