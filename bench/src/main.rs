//! Benchmarks of Skillet: each figure with its target, and with the limit of this machine and its Postgres.
//!
//! `cargo run --release -p bench -- --help`

mod approvals;
mod chaos;
mod claim;
mod core;
mod deltas;
mod enqueue;
mod feed;
mod figure;
mod followers;
mod jobs;
mod load;
mod machine;
mod million;
mod notify;
mod part;
mod peers;
mod plot;
mod pooler;
mod process;
mod queue;
mod quota;
mod raw_follower;
mod receiver;
mod reconnects;
mod sandbox;
mod scale;
mod server;
mod service;
mod start;
mod storm;
mod submit;
mod table;
mod takeover;
mod ticks;
mod turns;
mod waiting;
mod webhooks;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::signal::unix::{SignalKind, signal};

use crate::part::Part;
use crate::scale::Scale;
use crate::server::Server;

/// Measures Skillet: each figure with its target, and with the limit of this machine and its Postgres.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// Run only these parts
    #[arg(long, value_delimiter = ',', value_name = "PART")]
    only: Vec<Part>,
    /// Halve the size of each part
    #[arg(long)]
    quick: bool,
    /// Number of jobs in the part `million`; 1,000,000 by default, 20,000 with --quick
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(10..))]
    jobs: Option<u32>,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Check that nothing is lost while a service is killed, stopped, disconnected and restarted
    Chaos(chaos::Arguments),
    /// Draw figures that --json wrote, with those of other systems for comparison
    Plot {
        #[command(flatten)]
        written: FigureFiles,
        /// SVG file to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Print figures that --json wrote as a Markdown table
    Table {
        #[command(flatten)]
        written: FigureFiles,
    },
}

#[derive(Args)]
struct FigureFiles {
    /// Files that --json wrote; if several contain the same figure, the last one counts
    #[arg(required = true)]
    figures: Vec<PathBuf>,
}

/// The resources and the size of the measurements.
struct Bench {
    server: Server,
    scale: Scale,
    /// The number of jobs in the part `million`, if given.
    jobs: Option<u32>,
}

fn main() -> ExitCode {
    // The measured processes run this program as well.
    if matches!(
        std::env::args().nth(1).as_deref(),
        Some("api" | "worker" | "sandbox-init")
    ) {
        return cli::main();
    }
    let arguments = Arguments::parse();
    rustls::crypto::ring::default_provider()
        .install_default()
        .expect("nothing was installed before");
    open_files();
    let runtime = tokio::runtime::Runtime::new().expect("a process can have threads");
    let done = match &arguments.command {
        Some(Command::Chaos(arguments)) => runtime.block_on(chaos::chaos(arguments)),
        Some(Command::Plot { written, output }) => {
            figure::read_json(&written.figures).and_then(|figures| plot::draw(figures, output))
        }
        Some(Command::Table { written }) => {
            figure::read_json(&written.figures).map(|figures| table::print(&figures))
        }
        None => runtime.block_on(async {
            // All started processes end with this one.
            tokio::select! {
                done = measure(&arguments) => done,
                () = told_to_end() => Err(anyhow::anyhow!("interrupted")),
            }
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Raises the limit on open files of this process and its children, for many followers.
fn open_files() {
    let limit = getrlimit(Resource::Nofile);
    let most = Rlimit {
        current: limit.maximum,
        ..limit
    };
    // If the limit is too low, the part that needs more files fails with an error.
    let _ = setrlimit(Resource::Nofile, most);
}

async fn told_to_end() {
    let mut terminate = signal(SignalKind::terminate()).expect("signals can be heard");
    tokio::select! {
        _ = terminate.recv() => {}
        // If Ctrl-C cannot be handled, it ends this program as usual.
        Ok(()) = tokio::signal::ctrl_c() => {}
    }
}

/// Measures part by part. If a part fails, the others are still measured, and an error is returned.
async fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    let bench = Bench {
        server: Server::start().await?,
        scale: Scale::new(arguments.quick),
        jobs: arguments.jobs,
    };
    let parts = if arguments.only.is_empty() {
        Part::ours()
    } else {
        arguments.only.clone()
    };
    let mut all = machine::look(bench.server.home())?;
    figure::print(&all);
    let mut failed = Vec::new();
    for part in parts {
        match part.measure(&bench).await {
            Ok(figures) => {
                figure::print(&figures);
                all.extend(figures);
            }
            Err(error) => {
                eprintln!("error: {part:?}: {error:#}");
                failed.push(part);
            }
        }
    }
    let judged = all.iter().filter(|figure| figure.met.is_some()).count();
    let met = all.iter().filter(|figure| figure.met == Some(true)).count();
    eprintln!("{met} of {judged} targets are met");
    if let Some(path) = &arguments.json {
        figure::write_json(&all, path)?;
    }
    anyhow::ensure!(failed.is_empty(), "could not be measured: {failed:?}");
    Ok(())
}
