//! Lines on standard output and standard error.

use std::io::{ErrorKind, IsTerminal, Write, stderr, stdout};

use serde::Serialize;

/// The reader of standard output has closed it, as `head` does. The command stops without an error.
#[derive(Debug, thiserror::Error)]
#[error("standard output is closed")]
pub(crate) struct OutputClosed;

/// Prints a line to standard output.
pub(crate) fn print(line: &str) -> anyhow::Result<()> {
    match writeln!(stdout(), "{line}") {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(OutputClosed.into()),
        Err(error) => Err(anyhow::Error::new(error).context("cannot write to standard output")),
    }
}

/// Prints text that came from a model. At a terminal, control characters are removed, because they could change what it
/// shows.
pub(crate) fn print_foreign(text: &str) -> anyhow::Result<()> {
    if !stdout().is_terminal() {
        return print(text);
    }
    print(&without_controls(text))
}

/// The text without control characters, other than tabs and line breaks.
pub(crate) fn without_controls(text: &str) -> String {
    let is_harmless = |char: &char| !char.is_control() || matches!(char, '\n' | '\t');
    text.chars().filter(is_harmless).collect()
}

/// Prints a value as JSON on one line.
pub(crate) fn print_json(value: &impl Serialize) -> anyhow::Result<()> {
    print(&serde_json::to_string(value)?)
}

/// Prints a line to standard error. If that fails, the command continues.
pub(crate) fn say(line: &str) {
    let _ = writeln!(stderr(), "{line}");
}

/// Prints to standard error without a line break.
pub(crate) fn say_without_break(text: &str) {
    let mut stderr = stderr();
    let _ = write!(stderr, "{text}").and_then(|()| stderr.flush());
}
