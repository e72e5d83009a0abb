//! `bench chaos`: checks that nothing is lost while a service is killed, stopped, disconnected and restarted.

use std::io::Write;
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use clap::{Args, ValueEnum};
use tests::chaos::{Deployment, Options, Setup, Summary, roll, run};

use crate::figure::percentile;

/// Options of the chaos tests.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Number of runs
    #[arg(long, default_value_t = 100)]
    runs: u64,
    /// Seed of the first run, incremented for each further run; the current time by default
    #[arg(long)]
    seed: Option<u64>,
    /// Number of services at once; a run mostly waits
    #[arg(long, default_value_t = 4)]
    services: usize,
    /// Deployment of the services; without it, the seed of each run decides
    #[arg(long, value_name = "WHAT")]
    with: Option<DeployedWith>,
    /// Instead of these runs, replace the worker of one long job this many times
    #[arg(long, value_name = "RESTARTS")]
    rolling: Option<usize>,
    /// Write the summary to this file
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// The deployment of all services.
#[derive(Clone, Copy, ValueEnum)]
enum DeployedWith {
    /// A folder for files, and a direct connection to the database
    Nothing,
    /// An S3 bucket for files, which is stopped and disconnected
    Bucket,
    /// PgBouncer in transaction mode, which is killed and restarted
    Pooler,
    /// Both the bucket and PgBouncer
    Both,
    /// A synchronous standby of the database, which is promoted
    Standby,
}

impl From<DeployedWith> for Deployment {
    fn from(with: DeployedWith) -> Self {
        Self {
            bucket: matches!(with, DeployedWith::Bucket | DeployedWith::Both),
            pooler: matches!(with, DeployedWith::Pooler | DeployedWith::Both),
            standby: matches!(with, DeployedWith::Standby),
        }
    }
}

/// Runs the chaos tests and prints their results. Returns an error if anything was lost.
pub(crate) async fn chaos(arguments: &Arguments) -> anyhow::Result<()> {
    let setup = Setup::of(std::env::current_exe()?);
    if let Some(restarts) = arguments.rolling {
        return rolling(setup, restarts).await;
    }
    let seed = match arguments.seed {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    if setup.wrong_clock.is_none() {
        eprintln!("clock faults are skipped: libfaketime is not installed");
    }
    if setup.s3_python.is_none() {
        eprintln!("all assets are stored in folders: Python with moto[server] is not installed");
    }
    if !setup.has_pooler {
        eprintln!("all database connections are direct: pgbouncer is not installed");
    }
    if !setup.has_standby {
        eprintln!("no database has a standby: pg_basebackup is not installed");
    }
    let options = Options {
        setup,
        seed,
        runs: arguments.runs,
        services: arguments.services.max(1),
        deployment: arguments.with.map(Deployment::from),
    };
    let begun_at = Instant::now();
    let mut told = 0;
    let progress = |summary: &Summary| {
        for violation in &summary.violations[told..] {
            eprintln!("\n{violation}");
        }
        told = summary.violations.len();
        eprint!(
            "\r{} of {} runs, {} violated ",
            summary.runs,
            options.runs,
            summary.violations.len()
        );
    };
    let summary = run(&options, progress).await?;
    eprintln!();
    print(&summary, seed, begun_at)?;
    if let Some(path) = &arguments.json {
        std::fs::write(path, serde_json::to_string_pretty(&summary)?)?;
    }
    anyhow::ensure!(summary.violations.is_empty(), "invariants were violated");
    Ok(())
}

/// The turns of the long job per restart.
const TURNS_PER_RESTART: usize = 5;

async fn rolling(setup: Setup, restarts: usize) -> anyhow::Result<()> {
    let turns = restarts * TURNS_PER_RESTART;
    let rolled = roll(setup, turns, restarts).await?;
    let seconds: Vec<_> = rolled
        .handed_back
        .iter()
        .map(|it| it.as_secs_f64())
        .collect();
    let mut out = std::io::stdout();
    writeln!(out, "{turns} turns, {restarts} restarts; handed back after")?;
    for percent in [50, 99] {
        writeln!(out, "{:8.3} s  p{percent}", percentile(&seconds, percent))?;
    }
    anyhow::ensure!(rolled.violations.is_empty(), "{:#?}", rolled.violations);
    Ok(())
}

fn print(summary: &Summary, seed: u64, begun_at: Instant) -> anyhow::Result<()> {
    let mut out = std::io::stdout();
    let seconds = begun_at.elapsed().as_secs();
    writeln!(out, "{} runs from seed {seed} in {seconds} s", summary.runs)?;
    writeln!(out, "{:.1} s for the longest", summary.longest_seconds)?;
    writeln!(out, "{} jobs with {} events", summary.jobs, summary.events)?;
    let (deliveries, repeated) = (summary.deliveries, summary.repeated);
    writeln!(
        out,
        "{deliveries} deliveries to webhooks, {repeated} of them repeated"
    )?;
    let ends = summary
        .ends
        .iter()
        .map(|(end, count)| (format!("jobs {end}"), count));
    let retries = summary.retries.iter();
    let retries = retries.map(|(cause, count)| (format!("attempts ended by {cause}"), count));
    let faults = summary
        .faults
        .iter()
        .map(|(name, count)| ((*name).to_owned(), count));
    for (name, count) in ends.chain(retries).chain(faults) {
        writeln!(out, "{count:8}  {name}")?;
    }
    writeln!(
        out,
        "{:8}  runs with violated invariants",
        summary.violations.len()
    )?;
    Ok(())
}
