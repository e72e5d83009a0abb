//! The start of programs that run beside the job's commands and are confined like them.

use std::net::TcpListener;
use std::sync::Arc;

use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::context::ToolContext;
use crate::exit_report;
use crate::side_program::SideProgram;
use worker_egress::Egress;
use worker_sandbox::RunningCommand;
use worker_workspace::Redactor;

/// The pipes of a program.
pub(super) struct ProgramPipes {
    pub(super) input: Sender,
    pub(super) output: Receiver,
}

/// Starts a program. It may run as long as the attempt, so it takes no permit of a command: otherwise the commands of
/// its own job would wait for its end. An error is a message for people.
pub(super) async fn start(
    script: &str,
    environment: Vec<(String, String)>,
    context: &ToolContext<'_>,
) -> Result<(SideProgram, ProgramPipes), String> {
    let mut command = worker_sandbox::SandboxCommand {
        script,
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
        tracing::error!(job = %context.job, %error, "a sandbox for a program could not be created");
        "its sandbox could not be created".to_owned()
    })?;
    let (output, stderr) = running.take_output();
    let input = running.take_input().ok_or("it has no input")?;
    let listeners = running.take_listeners();
    let (written, exit_report) = watch::channel(None);
    let egress = context.egress.cloned().map(|egress| (egress, listeners));
    let supervising = supervise(running, stderr, egress, context.events.redactor(), written);
    let program = SideProgram {
        exit_report,
        _supervising: AbortOnDropHandle::new(tokio::spawn(supervising)),
    };
    Ok((program, ProgramPipes { input, output }))
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
        // Serving never ends by itself.
        () = serving => {}
    }
}
