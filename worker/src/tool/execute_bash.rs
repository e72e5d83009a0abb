use std::time::Duration;

use futures_util::future::BoxFuture;
use schemars::{JsonSchema, schema_for};
use serde::{Deserialize, Serialize};
use shared::event::{EventData, ToolOutput};
use shared::sandbox::CommandUsage;
use tokio::sync::mpsc;

use super::{Call, Done, Tool, ToolError};
use crate::command::{self, CommandLimits, Finished};
use crate::model::ToolSpec;
use crate::sandbox::{self, LaunchError, Limit};

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
            let finished = run(&command, limits, &call).await;
            let finished = finished.map_err(|error| ToolError::Abort(error.into()))?;
            Ok(reply(&finished, &call))
        })
    }
}

/// Runs it to its end, its output going to the log as it comes.
async fn run(
    script: &str,
    limits: CommandLimits,
    call: &Call<'_>,
) -> Result<Finished, LaunchError> {
    let attempt = call.attempt;
    let secrets = attempt.secrets.environment();
    let mut command = sandbox::Command {
        script,
        environment: secrets
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        listeners: Vec::new(),
        hosts: String::new(),
        limits: sandbox::Limits::DEFAULT,
    };
    if let Some(egress) = attempt.egress {
        command.environment.extend(egress.environment());
        command.listeners = egress.listeners();
        command.hosts = egress.hosts();
    }
    let mut running = attempt
        .shop
        .sandbox
        .start(command, &attempt.workspace)
        .await?;
    let listeners = running.take_listeners();
    let (live, mut pieces) = mpsc::channel(LIVE_PIECES);
    let show = async {
        while let Some((stream, text)) = pieces.recv().await {
            let output = ToolOutput {
                call_id: call.id.to_owned(),
                stream,
                text,
            };
            attempt.log.append(EventData::ToolOutput(output)).await;
        }
    };
    let follow = async { tokio::join!(command::follow(running, limits, live), show).0 };
    match attempt.egress {
        None => follow.await,
        Some(egress) => tokio::select! {
            finished = follow => finished,
            // It never ends by itself.
            () = egress.serve(listeners) => Err(std::io::Error::from(std::io::ErrorKind::NotConnected).into()),
        },
    }
}

fn reply(finished: &Finished, call: &Call<'_>) -> Done {
    let ended = &finished.ended;
    let exit_code = ended.exit_code.filter(|_| !finished.timed_out);
    let truncated = finished.stdout.truncated || finished.stderr.truncated;
    let reply = Reply {
        success: exit_code == Some(0),
        exit_code,
        stdout: &finished.stdout.text,
        stderr: &finished.stderr.text,
        duration_ms: finished.duration.as_millis(),
        truncated,
        note: note(finished, call),
    };
    Done {
        text: serde_json::to_string(&reply).expect("replies have string keys"),
        is_error: exit_code != Some(0),
        timed_out: finished.timed_out,
        exit_code,
        truncated,
        created: None,
        usage: Some(CommandUsage {
            cpu_ms: u64::try_from(ended.cpu.as_millis()).unwrap_or(u64::MAX),
            peak_memory_bytes: ended.peak_memory_bytes,
        }),
    }
}

/// What the command met with, a line each: a limit, and hosts that it may not reach.
fn note(finished: &Finished, call: &Call<'_>) -> Option<String> {
    let refused = call.attempt.egress.and_then(|egress| {
        let hosts = egress.refused();
        let refused = hosts.join(", ");
        let allowed = egress.allowed();
        (!hosts.is_empty()).then(|| format!("not allowed: {refused}; this job may reach {allowed}"))
    });
    let lines: Vec<_> = limit_met(finished, call.timeout)
        .into_iter()
        .chain(refused)
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn limit_met(finished: &Finished, timeout: Duration) -> Option<String> {
    if finished.timed_out {
        return Some(format!("killed after {} s", timeout.as_secs()));
    }
    let limits = sandbox::Limits::DEFAULT;
    let text = match finished.ended.limit? {
        Limit::Memory => format!(
            "killed: it needed more than {} of memory",
            size(limits.memory_bytes)
        ),
        Limit::Processes => format!(
            "it had {} processes and threads, the most there may be",
            limits.processes
        ),
        Limit::FileSize => format!(
            "a file grew beyond {}, the largest that there may be",
            size(limits.file_bytes)
        ),
        Limit::Disk => format!(
            "killed: the workspace and /tmp held more than {}",
            size(limits.disk_bytes)
        ),
        Limit::DiskEntries => format!(
            "killed: the workspace and /tmp held more than {} files",
            limits.disk_entries
        ),
        Limit::FreeSpace => "killed: the disk of the machine is full".to_owned(),
        Limit::Output => format!(
            "killed: it printed more than {}",
            size(command::MAX_OUTPUT_BYTES)
        ),
    };
    Some(text)
}

fn size(bytes: u64) -> String {
    const MIB: u64 = 1024 * 1024;
    match bytes / MIB {
        mib if mib >= 1024 && mib % 1024 == 0 => format!("{} GiB", mib / 1024),
        mib => format!("{mib} MiB"),
    }
}
