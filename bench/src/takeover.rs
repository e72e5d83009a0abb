//! The latency of a takeover: after a worker was killed, and when it drains.

use std::time::Duration;

use tests::chaos::{Interruption, Setup, interrupt};

use crate::Bench;
use crate::figure::{Figure, percentile};

/// The number of samples of each figure.
const KILLS: usize = 20;
const DRAINS: usize = 20;

/// Measures with the default settings.
pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let kills = sample(Interruption::Kill, bench.scale.count(KILLS)).await?;
    for percent in [50, 99] {
        let name = format!("SIGKILL of a worker → job.started elsewhere, p{percent}");
        let figure = Figure::new(name, percentile(&kills, percent), "s");
        figures.push(figure.at_most(6.0));
    }
    for (interruption, what) in [
        (Interruption::DrainInReply, "the model is streaming"),
        (Interruption::DrainInCommand, "a command of 1 s is running"),
    ] {
        let drains = sample(interruption, bench.scale.count(DRAINS)).await?;
        let name = format!("SIGTERM → job handed back while {what}, p99");
        let figure = Figure::new(name, percentile(&drains, 99), "s");
        figures.push(figure.at_most(2.0));
    }
    Ok(figures)
}

async fn sample(interruption: Interruption, count: usize) -> anyhow::Result<Vec<f64>> {
    let setup = Setup::of(std::env::current_exe()?);
    let times = interrupt(setup, interruption, count).await?;
    Ok(times.iter().map(Duration::as_secs_f64).collect())
}
