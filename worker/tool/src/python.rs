//! Python programs of ours that run in the sandbox, because what they read is not trusted.

use std::time::Duration;

use serde::Serialize;

use crate::call::{Call, Done, ToolError};
use crate::command::{CommandLimits, FinishedCommand};
use crate::shell;

/// Longer arguments are in a file, because an argument of a command has a limit.
const MAX_INLINE_BYTES: usize = 16 * 1024;

/// Runs a program on the arguments of a call. What it prints is the result; what it says on standard error when it
/// fails is told to the model.
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
    let json = serde_json::to_string(arguments).expect("arguments have string keys");
    let arguments = if json.len() > MAX_INLINE_BYTES {
        spill(&json, call).await?
    } else {
        format!("<(printf %s '{}')", quoted(&json))
    };
    let program = quoted(program);
    let missing = "python3 is not installed on this worker";
    let script = format!(
        "command -v python3 >&- || {{ echo '{missing}' >&2; exit 1; }}; exec python3 -I -c '{program}' {arguments}"
    );
    let limits = CommandLimits {
        timeout,
        output_bytes: call.shown_bytes(),
    };
    shell::run_with(&script, limits, call).await
}

/// A text between single quotes of a shell.
fn quoted(text: &str) -> String {
    text.replace('\'', r"'\''")
}

/// The path of a file with the arguments, which stays in the workspace.
async fn spill(json: &str, call: &Call<'_>) -> Result<String, ToolError> {
    let mut file = call.spill_bytes("arguments.json");
    file.push(json.as_bytes()).await;
    let text = "there is no room in the workspace for the arguments";
    let file = file.finish().await;
    Ok(file.ok_or_else(|| ToolError::Reply(text.to_owned()))?.path)
}

/// What the model is told of a program that failed; `None` if it did not.
pub(super) fn failure(finished: &FinishedCommand, timeout: Duration) -> Option<Done> {
    if finished.ended.exit_code == Some(0) && !finished.timed_out {
        return None;
    }
    let words = finished.stderr.shown.text.trim();
    let text = match words.lines().last() {
        _ if finished.timed_out => format!("it was given up after {} s", timeout.as_secs()),
        // Of what Python says when it fails by itself, the last line says most.
        Some(last) if words.contains("Traceback") => format!("it failed: {last}"),
        Some(_) => words.to_owned(),
        None => "it failed without a word".to_owned(),
    };
    Some(Done {
        timed_out: finished.timed_out,
        ..Done::error(text)
    })
}
