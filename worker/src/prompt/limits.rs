//! The section of the system prompt about the limits of a job.

use std::time::Duration;

use shared::limits::Limits;

/// Returns the section about the limits. `commands` is the timeout of a command, for jobs that run commands.
pub(crate) fn limits_section(limits: &Limits, commands: Option<Duration>) -> String {
    let Limits {
        max_iterations,
        max_tokens,
        timeout_seconds,
        ..
    } = limits;
    let commands = commands.map_or_else(String::new, |timeout| {
        format!(" A command may run for {} seconds.", timeout.as_secs())
    });
    format!(
        "\n\n# Limits\n\nThe task ends after {max_iterations} replies or {timeout_seconds} seconds. A reply has at most \
         {max_tokens} tokens: write what is longer in several calls.{commands} Keep the last replies for handing over."
    )
}
