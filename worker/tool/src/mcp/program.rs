//! A server that is a program in the job's sandbox, confined like any command of it.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use super::exit_report;
use super::limited_reader::LimitedReader;
use super::size::MAX_MESSAGE_BYTES;
use crate::context::ToolContext;
use worker_egress::Egress;
use worker_sandbox::RunningCommand;
use worker_workspace::Redactor;

/// A program that runs. It dies when this is dropped.
pub(super) struct McpProgram {
    /// How it ended, once it has.
    pub(super) exit_report: watch::Receiver<Option<String>>,
    _supervising: AbortOnDropHandle<()>,
}

/// The way to a program: its standard input and output.
pub(super) type Pipes = AsyncRwTransport<RoleClient, LimitedReader<Receiver>, Sender>;

impl McpProgram {
    /// Starts it. It runs for as long as the attempt may, so it takes no place among the commands: those of its own
    /// job would wait for it to end. An error is for people.
    pub(super) async fn start(
        command: &[String],
        env: &BTreeMap<String, String>,
        context: &ToolContext<'_>,
    ) -> Result<(Self, Pipes), String> {
        let mut environment = Vec::with_capacity(env.len());
        for (name, value) in env {
            let value = context.secrets.fill(value);
            let value = value.map_err(|error| format!("its variable {name}: {error}"))?;
            environment.push((name.clone(), value));
        }
        let mut command = worker_sandbox::SandboxCommand {
            script: &script(command),
            environment,
            programs: None,
            listeners: Vec::new(),
            hosts: String::new(),
            limits: worker_sandbox::SandboxLimits::DEFAULT,
            reads: true,
        };
        if let Some(egress) = context.egress {
            egress.lead(&mut command);
        }
        let running = context
            .sandbox
            .start(command, context.workspace.job_directory());
        let mut running = running.await.map_err(|error| {
            tracing::error!(job = %context.job, %error, "a sandbox for an MCP server could not be made");
            "its sandbox could not be made".to_owned()
        })?;
        let (stdout, stderr) = running.take_output();
        let input = running.take_input().ok_or("it has no input")?;
        let listeners = running.take_listeners();
        let (written, exit_report) = watch::channel(None);
        let egress = context.egress.cloned().map(|egress| (egress, listeners));
        let supervising = supervise(running, stderr, egress, context.events.redactor(), written);
        let program = Self {
            exit_report,
            _supervising: AbortOnDropHandle::new(tokio::spawn(supervising)),
        };
        let pipes = AsyncRwTransport::new_client(LimitedReader::new(stdout), input);
        Ok((program, pipes.with_max_line_length(MAX_MESSAGE_BYTES + 1)))
    }
}

/// Serves a program until its end, and writes its exit report.
async fn supervise(
    mut running: RunningCommand,
    stderr: Receiver,
    egress: Option<(Arc<Egress>, Vec<TcpListener>)>,
    redactor: Option<Arc<Redactor>>,
    written: watch::Sender<Option<String>>,
) {
    let serving = async {
        match egress {
            Some((egress, listeners)) => egress.serve(listeners).await,
            None => std::future::pending().await,
        }
    };
    let ending = async { tokio::join!(running.ended(), exit_report::listen(stderr, redactor)) };
    tokio::select! {
        (ended, words) = ending => {
            written.send_replace(Some(exit_report::write(ended, &words)));
        }
        // It never ends by itself.
        () = serving => {}
    }
}

/// The program with its arguments, for bash, which becomes it.
fn script(command: &[String]) -> String {
    let words = command.iter();
    let quoted = words.map(|word| format!(" '{}'", word.replace('\'', r"'\''")));
    format!("exec --{}", quoted.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_word_of_the_command_is_the_program_gets_it_as_it_is() {
        let words = ["printf", "<%s>", "a b", "it's", "$(id)", "-c", "", "é;x\n"];
        let ran = std::process::Command::new("bash")
            .args(["-c", &script(&words.map(str::to_owned))])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&ran.stdout),
            "<a b><it's><$(id)><-c><><é;x\n>"
        );
    }
}
