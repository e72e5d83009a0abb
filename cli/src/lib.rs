//! The `skillet` binary: the service and its parts, and a client for the terminal.

mod approval_prompt;
mod args;
mod command;
mod complete;
mod config;
mod connect;
mod desktop;
mod directory;
mod download;
mod event_line;
mod exit;
mod follow;
mod hidden_input;
mod html;
mod json_file;
mod master_key;
mod noun;
mod output;
pub mod postgres;
mod profile;
mod progress;
mod queue_reason;
mod runtime;
mod service;
mod session;
mod shutdown;
mod terminal;
mod trace;

use std::process::ExitCode;

use clap::FromArgMatches;
use clap_complete::CompleteEnv;
use rustix::fs::Mode;

pub use crate::command::definition as command;

use crate::command::{COMPLETION_VARIABLE, Cli};
use crate::config::Config;
use crate::exit::Exit;
use crate::terminal::{OutputClosed, say};
use crate::trace::Exporter;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    // This must run before there is a second thread, because it forks.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|task| task == "sandbox-init")
    {
        return worker::sandbox::init_main();
    }
    install_crypto();
    CompleteEnv::with_factory(command)
        .var(COMPLETION_VARIABLE)
        .complete();
    let definition = command();
    let config = match config::load(&definition) {
        Ok(config) => config,
        Err(error) => return usage(&error),
    };
    let matches = config.apply_to(definition).get_matches();
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Err(error) = shared::telemetry::init(cli.log_format.into(), &cli.log) {
        return usage(&error.context("--log"));
    }
    if cli.command.keeps_data() {
        // Other users must not read the files of a service, whatever umask the process inherits.
        rustix::process::umask(Mode::RWXG | Mode::RWXO);
    }
    let ended = match cli.command.remote() {
        Some(remote) if session::finds_service(remote) => run_client(cli, config),
        None if cli.command.is_independent() => run_client(cli, config),
        _ => runtime::for_service().and_then(|runtime| {
            let exporter = Exporter::start(runtime.handle());
            let ended = runtime.block_on(command::run(cli, config));
            // The last spans are sent while the runtime still exists.
            drop(exporter);
            ended
        }),
    };
    match ended {
        Ok(exit) => ExitCode::from(exit.code()),
        Err(error) if error.is::<OutputClosed>() => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Runs a command that starts no service, on this thread.
fn run_client(cli: Cli, config: Config) -> anyhow::Result<Exit> {
    runtime::for_client()?.block_on(command::run(cli, config))
}

fn install_crypto() {
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("nothing was installed before");
}

fn usage(error: &anyhow::Error) -> ExitCode {
    say(&format!("error: {error:#}"));
    ExitCode::from(2)
}
