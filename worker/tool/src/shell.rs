//! Tools that run commands in the workspace.

mod exec;
mod reply;

use std::time::Duration;

use serde_json::Value;
use shared::event::{EventData, ToolOutput};
use tokio::sync::mpsc;

pub(super) use exec::ShellExec;

use crate::call::{Call, Done, ToolError};
use crate::command::{self, CommandLimits, FinishedCommand, OutputSinks};
use crate::context::{PROGRAMS_FOLDER, ToolContext};
use worker_sandbox::LaunchError;

/// The maximum size of a script. The kernel limits the length of an argument (execve(2), `MAX_ARG_STRLEN`).
const MAX_SCRIPT_BYTES: usize = 128 * 1024 - 1;
/// The maximum size of the parameters in a variable, for the same reason.
const MAX_PARAMETERS_BYTES: usize = 64 * 1024;
/// The number of pieces of live output that can wait for the log.
const LIVE_PIECES: usize = 16;

/// The part of the tool description that applies to every call.
const ABOUT: &str = "Each call is a new shell: the working directory and variables do not carry over, files do. Nothing \
                     is on standard input, and processes left in the background end with the call. The result is \
                     JSON: success, exit_code, stdout, stderr, duration_ms, truncated, and a note if something stands \
                     out. Of long output the head and the tail are shown, and the note names the file that has all of \
                     it.";

/// Runs a script with bash. Returns the result for the model.
async fn run(script: &str, timeout: Duration, call: &Call<'_>) -> Result<Done, ToolError> {
    let limits = CommandLimits {
        timeout,
        output_bytes: call.shown_bytes() / 2,
    };
    let finished = run_with(script, limits, call).await?;
    Ok(reply::done(&finished, timeout, call))
}

/// Runs a script with bash.
pub(super) async fn run_with(
    script: &str,
    limits: CommandLimits,
    call: &Call<'_>,
) -> Result<FinishedCommand, ToolError> {
    check(script)?;
    let _permit = call
        .context
        .command_permits
        .acquire()
        .await
        .map_err(|error| ToolError::Abort(error.into()))?;
    let finished = follow(script, limits, call).await;
    finished.map_err(|error| ToolError::Abort(error.into()))
}

/// Checks that bash can receive the script.
fn check(script: &str) -> Result<(), ToolError> {
    let refused = |text: &str| Err(ToolError::Reply(text.to_owned()));
    if script.contains('\0') {
        return refused("the command was not run: it contains a NUL byte, which is not allowed");
    }
    if script.len() > MAX_SCRIPT_BYTES {
        return refused(
            "the command was not run: it is longer than 128 KiB; write long texts to files, piece by piece",
        );
    }
    Ok(())
}

/// Returns the parameters of a job for its skill's programs, as JSON in a variable. `None` if
/// they are too large for one.
fn parameters(context: &ToolContext<'_>) -> Option<(String, String)> {
    let parameters = Value::Object(context.parameters.clone()).to_string();
    let is_known = context.has_skill_files && parameters.len() <= MAX_PARAMETERS_BYTES;
    is_known.then(|| ("SKILLET_PARAMETERS".to_owned(), parameters))
}

/// Runs a script to its end. Its output goes to the log as it arrives.
async fn follow(
    script: &str,
    limits: CommandLimits,
    call: &Call<'_>,
) -> Result<FinishedCommand, LaunchError> {
    let context = call.context;
    let secrets = context.secrets.environment();
    let secrets = secrets.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut command = worker_sandbox::SandboxCommand {
        script,
        environment: secrets.chain(parameters(context)).collect(),
        programs: context.has_programs.then_some(PROGRAMS_FOLDER),
        listeners: Vec::new(),
        hosts: String::new(),
        limits: worker_sandbox::SandboxLimits::DEFAULT,
        reads: false,
    };
    if let Some(egress) = context.egress {
        egress.lead(&mut command);
    }
    let directory = context.workspace.job_directory();
    let mut running = context.sandbox.start(command, directory).await?;
    let listeners = running.take_listeners();
    let (live, mut pieces) = mpsc::channel(LIVE_PIECES);
    let sinks = OutputSinks {
        live,
        stdout: call.spill("stdout.txt"),
        stderr: call.spill("stderr.txt"),
    };
    let show = async {
        while let Some((stream, text)) = pieces.recv().await {
            let output = ToolOutput {
                call_id: call.id.to_owned(),
                stream,
                text,
            };
            context.events.append(EventData::ToolOutput(output)).await;
        }
    };
    let follow = async { tokio::join!(command::follow(&mut running, limits, sinks), show).0 };
    match context.egress {
        None => follow.await,
        Some(egress) => tokio::select! {
            finished = follow => finished,
            // Serving never ends by itself.
            () = egress.serve(listeners) => Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into()),
        },
    }
}
