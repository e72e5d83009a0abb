//! `bench chaos`: whether anything is lost while a service is killed, stopped, cut off and restarted.
//!
//! `cargo run --release -p bench -- chaos [--runs N] [--seed S] [--worlds N] [--json FILE]`, or
//! `… chaos --rolling RESTARTS`: one long job of whose workers each is replaced in turn.

use std::io::Write;
use std::path::Path;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use tests::chaos::{Options, Setup, Summary, roll, run};

use crate::figure::percentile;
use crate::option;

/// Runs, if not told how many.
const RUNS: u64 = 100;
/// Services at once, if not told how many: most of a run is waiting.
const WORLDS: usize = 4;

/// Makes the runs and says what came of them; an error if anything is lost.
pub(crate) async fn chaos() -> anyhow::Result<()> {
    let setup = Setup {
        program: std::env::current_exe()?,
        silence: None,
    };
    if let Some(restarts) = number("--rolling")? {
        return rolling(setup, usize::try_from(restarts)?).await;
    }
    let seed = match number("--seed")? {
        Some(seed) => seed,
        None => SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs(),
    };
    let options = Options {
        setup,
        seed,
        runs: number("--runs")?.unwrap_or(RUNS),
        worlds: number("--worlds")?
            .map_or(WORLDS, |count| usize::try_from(count).unwrap_or(WORLDS)),
    };
    let begun_at = Instant::now();
    let progress = |summary: &Summary| {
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
    if let Some(path) = option("--json") {
        std::fs::write(Path::new(&path), serde_json::to_string_pretty(&summary)?)?;
    }
    anyhow::ensure!(summary.violations.is_empty(), "something is lost");
    Ok(())
}

/// Turns of the long job for each restart.
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
    for violation in &summary.violations {
        writeln!(out, "{violation}\n")?;
    }
    let seconds = begun_at.elapsed().as_secs();
    writeln!(out, "{} runs from seed {seed} in {seconds} s", summary.runs)?;
    writeln!(out, "{} jobs with {} events", summary.jobs, summary.events)?;
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
        "{:8}  runs in which something is lost",
        summary.violations.len()
    )?;
    Ok(())
}

fn number(name: &str) -> anyhow::Result<Option<u64>> {
    let text = option(name);
    let number = text.map(|text| text.parse().with_context(|| format!("`{name} {text}`")));
    number.transpose()
}
