//! The one binary, `skillet`: the service and its parts, and a client for the terminal.

mod approval_prompt;
mod args;
mod client;
mod command;
mod config;
mod directory;
mod master_key;
pub mod postgres;
mod progress;
mod runtime;
mod service;
mod session;
mod shutdown;
mod trace;

use std::process::ExitCode;

use clap::FromArgMatches;
use rustix::fs::Mode;

pub use crate::args::command;

use crate::args::Cli;
use crate::trace::Exporter;

/// What a command that was understood came to.
pub(crate) enum Exit {
    /// It did what it should.
    Done,
    /// The job failed, or something else did and has been said.
    Failed,
    /// The person stopped it.
    Interrupted,
}

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    // Before there is a second thread: it forks.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|task| task == "sandbox-init")
    {
        return worker::sandbox::init_main();
    }
    let config = match config::load() {
        Ok(config) => config,
        Err(error) => return usage(&error),
    };
    let matches = config.apply_to(args::command()).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Err(error) = shared::telemetry::init(cli.log_format.into(), &cli.log) {
        return usage(&error.context("--log"));
    }
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("nothing was installed before");
    if cli.command.keeps_data() {
        // Nobody else reads the files of a service, whatever the mask of whoever starts it.
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
    let ended = match cli.command.remote() {
        Some(remote) if session::finds_service(remote) => {
            runtime::for_client().and_then(|runtime| runtime.block_on(command::run(cli, config)))
        }
        _ => runtime::for_service().and_then(|runtime| {
            let exporter = Exporter::start(runtime.handle());
            let ended = runtime.block_on(command::run(cli, config));
            // While there is a runtime to send the last spans.
            drop(exporter);
            ended
        }),
    };
    match ended {
        Ok(Exit::Done) => ExitCode::SUCCESS,
        Ok(Exit::Failed) => ExitCode::FAILURE,
        Ok(Exit::Interrupted) => ExitCode::from(130),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn usage(error: &anyhow::Error) -> ExitCode {
    eprintln!("error: {error:#}");
    ExitCode::from(2)
}
