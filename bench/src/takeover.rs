//! How long it takes until a job goes on elsewhere: after its worker was killed, and when it is told to leave.

use std::time::Duration;

use tests::chaos::{Interruption, Setup, interrupt};

use crate::figure::{Figure, percentile};

/// Samples of each figure.
const KILLS: usize = 20;
const DRAINS: usize = 20;

/// Measures with the default settings.
pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let kills = sample(Interruption::Kill, KILLS).await?;
    for percent in [50, 99] {
        let name = format!("SIGKILL of a worker → job.started elsewhere, p{percent}");
        figures.push(Figure::at_most(
            &name,
            percentile(&kills, percent),
            "s",
            6.0,
        ));
    }
    for (interruption, what) in [
        (Interruption::DrainInReply, "the model is streaming"),
        (Interruption::DrainInCommand, "a command of 1 s is running"),
    ] {
        let drains = sample(interruption, DRAINS).await?;
        let name = format!("SIGTERM → job handed back while {what}, p99");
        figures.push(Figure::at_most(&name, percentile(&drains, 99), "s", 2.0));
    }
    Ok(figures)
}

async fn sample(interruption: Interruption, count: usize) -> anyhow::Result<Vec<f64>> {
    let setup = Setup {
        program: std::env::current_exe()?,
        silence: None,
    };
    let times = interrupt(setup, interruption, count).await?;
    Ok(times.iter().map(Duration::as_secs_f64).collect())
}
