//! Built-in Python programs. They run in the sandbox, because their input is not trusted.

use std::time::Duration;

use serde::Serialize;

use crate::call::{Call, Done, ToolError};
use crate::command::{CommandLimits, FinishedCommand};
use crate::shell;

/// Runs a program on the arguments of a call. Its standard output is the result. If it fails, the model
/// receives its standard error.
pub(super) async fn run(
    program: &str,
    arguments: &impl Serialize,
    call: &Call<'_>,
) -> Result<Done, ToolError> {
    let finished = finish(program, arguments, call.timeout, call).await?;
    let failed = failure(&finished, call.timeout);
    Ok(failed.unwrap_or_else(|| Done::text(finished.stdout.shown.text)))
}

/// Runs a program on the arguments of a call to its end.
pub(super) async fn finish(
    program: &str,
    arguments: &impl Serialize,
    timeout: Duration,
    call: &Call<'_>,
) -> Result<FinishedCommand, ToolError> {
    // A file, because the arguments may be longer than a command-line argument may be.
    let mut file = call.spill_bytes("arguments.json");
    file.push(json(arguments).as_bytes()).await;
    let Some(file) = file.finish().await else {
        let text = "there is no room in the workspace for the arguments";
        return Err(ToolError::Reply(text.to_owned()));
    };
    finish_on(program, &file.path, timeout, call).await
}

/// Runs a program on a few short arguments to its end, and leaves no file in the workspace.
pub(super) async fn finish_inline(
    program: &str,
    arguments: &impl Serialize,
    timeout: Duration,
    call: &Call<'_>,
) -> Result<FinishedCommand, ToolError> {
    let pipe = format!("<(printf %s '{}')", quoted(&json(arguments)));
    finish_on(program, &pipe, timeout, call).await
}

async fn finish_on(
    program: &str,
    file: &str,
    timeout: Duration,
    call: &Call<'_>,
) -> Result<FinishedCommand, ToolError> {
    let program = quoted(program);
    let missing = "python3 is not installed on this worker";
    let script = format!(
        "command -v python3 >&- || {{ echo '{missing}' >&2; exit 1; }}; exec python3 -I -c '{program}' {file}"
    );
    let limits = CommandLimits {
        timeout,
        output_bytes: call.shown_bytes(),
    };
    shell::run_with(&script, limits, call).await
}

fn json(arguments: &impl Serialize) -> String {
    serde_json::to_string(arguments).expect("arguments have string keys")
}

/// Escapes a text for single quotes of a shell.
fn quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}

/// Returns the error of a program for the model, or `None` if the program did not fail.
pub(super) fn failure(finished: &FinishedCommand, timeout: Duration) -> Option<Done> {
    if finished.ended.exit_code == Some(0) && !finished.timed_out {
        return None;
    }
    let words = finished.stderr.shown.text.trim();
    let text = match words.lines().last() {
        _ if finished.timed_out => format!("it was stopped after {} s", timeout.as_secs()),
        // The last line of a Python traceback says the most.
        Some(last) if words.contains("Traceback") => format!("it failed: {last}"),
        Some(_) => words.to_owned(),
        None => "it failed without an error message".to_owned(),
    };
    Some(Done {
        timed_out: finished.timed_out,
        ..Done::error(text)
    })
}
