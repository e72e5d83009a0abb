use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use shared::event::{EventData, ToolOutput};
use tokio::sync::mpsc;

use super::{Call, Done, Tool, ToolError};
use crate::command::{self, CommandLimits, Finished};
use crate::model::ToolSpec;

/// Pieces of live output on their way to the log.
const LIVE_PIECES: usize = 16;

/// Runs a command in the workspace.
pub(crate) struct ExecuteBash;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// The command, run by bash in the workspace. Nothing is on its standard input.
    command: String,
}

/// What the model reads.
#[derive(Serialize)]
struct Reply<'a> {
    success: bool,
    exit_code: Option<i32>,
    stdout: &'a str,
    stderr: &'a str,
    duration_ms: u128,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

impl Tool for ExecuteBash {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "execute_bash",
            description: "Runs a command with bash in the workspace and returns its output. Each call is a new shell: \
                          the working directory and variables do not carry over, files do. Processes left in the \
                          background end with the call."
                .to_owned(),
            input_schema: schema_for!(Arguments).into(),
        }
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(120)
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let Arguments { command } = call.arguments()?;
            let limits = CommandLimits {
                timeout: call.timeout,
                output_bytes: call.attempt.skill.max_output_chars / 2,
            };
            let _permit = call
                .attempt
                .shop
                .commands
                .acquire()
                .await
                .map_err(|error| ToolError::Abort(error.into()))?;
            let (live, mut pieces) = mpsc::channel(LIVE_PIECES);
            let show = async {
                while let Some((stream, text)) = pieces.recv().await {
                    let output = ToolOutput {
                        call_id: call.id.to_owned(),
                        stream,
                        text,
                    };
                    call.attempt.log.append(EventData::ToolOutput(output)).await;
                }
            };
            let workspace = call.attempt.workspace.path();
            let (finished, ()) =
                tokio::join!(command::run(&command, workspace, limits, live), show);
            let finished = finished.map_err(|error| ToolError::Abort(error.into()))?;
            Ok(reply(&finished, call.timeout))
        })
    }
}

fn reply(finished: &Finished, timeout: Duration) -> Done {
    let exit_code = finished.exit_code();
    let timed_out = finished.status.is_none();
    let truncated = finished.stdout.truncated || finished.stderr.truncated;
    let reply = Reply {
        success: exit_code == Some(0),
        exit_code,
        stdout: &finished.stdout.text,
        stderr: &finished.stderr.text,
        duration_ms: finished.duration.as_millis(),
        truncated,
        note: timed_out.then(|| format!("killed after {} s", timeout.as_secs())),
    };
    Done {
        text: serde_json::to_string(&reply).expect("replies have string keys"),
        is_error: exit_code != Some(0),
        timed_out,
        exit_code,
        truncated,
        created: None,
    }
}
