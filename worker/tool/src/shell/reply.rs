//! The result of a command as the model reads it.

use std::time::Duration;

use serde::Serialize;
use shared::sandbox::CommandUsage;

use crate::call::{Call, Done};
use crate::command::{self, FinishedCommand, StreamOutput};
use worker_sandbox::Limit;
use worker_workspace::Spilled;

/// The reply that the model reads.
#[derive(Serialize)]
struct CommandReply<'a> {
    success: bool,
    exit_code: Option<i32>,
    stdout: &'a str,
    stderr: &'a str,
    duration_ms: u128,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// Returns the result of a command for the model. `timeout` was the time limit of the command.
pub(super) fn done(finished: &FinishedCommand, timeout: Duration, call: &Call<'_>) -> Done {
    let ended = &finished.ended;
    let exit_code = ended.exit_code.filter(|_| !finished.timed_out);
    let (stdout, stderr) = (&finished.stdout, &finished.stderr);
    let truncated = stdout.shown.truncated || stderr.shown.truncated;
    let reply = CommandReply {
        success: exit_code == Some(0),
        exit_code,
        stdout: &stdout.shown.text,
        stderr: &stderr.shown.text,
        duration_ms: finished.duration.as_millis(),
        truncated,
        note: note(finished, timeout, call),
    };
    Done {
        text: serde_json::to_string(&reply).expect("replies have string keys"),
        is_error: exit_code != Some(0),
        timed_out: finished.timed_out,
        exit_code,
        truncated,
        is_cut_json: true,
        created: None,
        usage: Some(CommandUsage {
            cpu_ms: u64::try_from(ended.cpu.as_millis()).unwrap_or(u64::MAX),
            peak_memory_bytes: ended.peak_memory_bytes,
        }),
        images: Vec::new(),
    }
}

/// Returns notes, one per line: a limit that was reached, hosts that were refused, and the files with long output.
fn note(finished: &FinishedCommand, timeout: Duration, call: &Call<'_>) -> Option<String> {
    let refused = call.context.egress.and_then(|egress| {
        let hosts = egress.refused();
        let refused = hosts.join(", ");
        let allowed = egress.allowed();
        (!hosts.is_empty()).then(|| format!("not allowed: {refused}; this job may reach {allowed}"))
    });
    let lines: Vec<_> = limit_met(finished, timeout)
        .into_iter()
        .chain(refused)
        .chain(whole("stdout", &finished.stdout))
        .chain(whole("stderr", &finished.stderr))
        .collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns a note about the file with a whole stream, if the model reads only a part of it.
fn whole(stream: &str, printed: &StreamOutput) -> Option<String> {
    match &printed.whole {
        Some(Spilled { path, bytes }) => Some(format!(
            "all {bytes} bytes of {stream} are in the workspace file {path}"
        )),
        None if printed.shown.truncated => Some(format!(
            "what was left out of {stream} could not be kept in a file"
        )),
        None => None,
    }
}

fn limit_met(finished: &FinishedCommand, timeout: Duration) -> Option<String> {
    if finished.timed_out {
        return Some(format!("killed after {} s", timeout.as_secs()));
    }
    let limits = worker_sandbox::SandboxLimits::DEFAULT;
    let text = match finished.ended.limit? {
        Limit::Memory => format!(
            "killed: it needed more than {} of memory",
            size(limits.memory_bytes)
        ),
        Limit::Processes => {
            let killed = match finished.ended.exit_code {
                Some(_) => "",
                None => "killed: ",
            };
            let most = limits.processes;
            format!("{killed}it had {most} processes and threads, the limit")
        }
        Limit::FileSize => format!(
            "a file grew beyond {}, the limit",
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
        Limit::HostMemory => {
            "killed: the machine is short of memory; a command that needs less may succeed".to_owned()
        }
        Limit::Hidden => {
            "killed: one of its processes could not be inspected; programs must be readable by their user".to_owned()
        }
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
