//! The cells of a table.

use chrono::{DateTime, Utc};
use console::Style;
use serde_json::Value;

use super::instant::relative;
use super::view::View;

/// A value that is shown differently to people and to programs.
pub(crate) enum Cell {
    Text(String),
    /// A status, shown with a colour.
    Status(String),
    /// An instant in RFC 3339, shown relative to now to people.
    Time(String),
}

impl Cell {
    pub(crate) fn text(value: &Value) -> Self {
        Self::Text(text_of(value))
    }

    pub(crate) fn status(value: &Value) -> Self {
        Self::Status(text_of(value))
    }

    pub(crate) fn time(value: &Value) -> Self {
        Self::Time(text_of(value))
    }

    /// The text for people if `now` is given, else for programs.
    pub(super) fn shown(&self, now: Option<DateTime<Utc>>) -> String {
        match self {
            Self::Text(text) | Self::Status(text) => one_line(text),
            Self::Time(text) => match now.and_then(|now| relative(text, now)) {
                Some(relative) => relative,
                None => text.clone(),
            },
        }
    }

    /// The text with its colour.
    pub(crate) fn styled(&self, view: &View) -> String {
        self.style().apply_to(self.shown(view.now())).to_string()
    }

    /// The colour of a status. It has no effect if standard output has no colours or `NO_COLOR` is set.
    pub(super) fn style(&self) -> Style {
        let style = Style::new();
        let Self::Status(status) = self else {
            return style;
        };
        match status.as_str() {
            "completed" | "approved" | "available" | "ready" | "delivered" | "active" => {
                style.green()
            }
            "failed" | "denied" | "unavailable" | "dead" => style.red(),
            status if status.starts_with("disabled") => style.red(),
            "running" => style.cyan(),
            "waiting" | "pending" | "draining" | "paused" | "failing" => style.yellow(),
            "cancelled" | "expired" => style.dim(),
            _ => style,
        }
    }
}

/// Replaces control characters with spaces, because a cell is part of a line and its text may come from a model.
fn one_line(text: &str) -> String {
    let visible = |char: char| if char.is_control() { ' ' } else { char };
    text.trim().chars().map(visible).collect()
}

/// The text of a JSON value: empty for null, and elements separated by commas.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(elements) => {
            let elements: Vec<_> = elements.iter().map(text_of).collect();
            elements.join(", ")
        }
        other => other.to_string(),
    }
}

/// Formats an amount of money. Jobs cost little, so it has four decimal places.
pub(crate) fn dollars(amount: f64) -> String {
    if amount == 0.0 {
        return "$0".to_owned();
    }
    format!("${amount:.4}")
}
