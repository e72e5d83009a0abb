//! The cost of the sandbox: a command inside it, compared with the same command outside.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use tokio::process::Command;
use worker::sandbox::{MemoryFloor, Mode, Sandbox};

use crate::figure::{Figure, percentile};

/// The number of commands per job, and the number of jobs.
const RUNS: usize = 20;
const JOBS: usize = 15;
const AT_ONCE: usize = 50;

/// Measures the duration of `bash -c true`, plain and in sandboxes.
pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let home = tempfile::tempdir()?;
    let floor = MemoryFloor::default();
    let sandbox = worker::sandbox::open(Mode::Required, home.path(), Vec::new(), floor).await?;
    let (mut plain, mut first, mut later) = (Vec::new(), Vec::new(), Vec::new());
    // Interleaved, so that all are exposed to the same noise.
    for _ in 0..JOBS {
        for _ in 0..RUNS {
            plain.push(time(run_plain()).await?);
        }
        let place = home.path().join(uuid::Uuid::now_v7().to_string());
        let taken = sandbox.time("true", RUNS, place).await?;
        let taken: Vec<_> = taken.iter().map(|it| it.as_secs_f64() * 1e3).collect();
        first.push(taken[0]);
        later.extend(&taken[1..]);
    }
    let (plain, first) = (percentile(&plain, 50), percentile(&first, 50));
    let later = percentile(&later, 50);
    let at_once = time(async {
        let all = (0..AT_ONCE).map(|_| run_confined(&sandbox, home.path()));
        futures_util::future::try_join_all(all).await.map(drop)
    });
    Ok(vec![
        Figure::new("`bash -c true`, plain, p50", plain, "ms"),
        Figure::new(
            "the same in a sandbox, a job's first command, p50",
            first,
            "ms",
        ),
        Figure::new("the same in a sandbox, its later ones, p50", later, "ms"),
        Figure::new("sandboxed to plain, p50", later / plain, "×").at_most(3.0),
        Figure::new(
            format!("{AT_ONCE} sandboxes at once, until the last has ended"),
            at_once.await?,
            "ms",
        ),
    ])
}

async fn run_plain() -> anyhow::Result<()> {
    let status = Command::new("bash").args(["-c", "true"]).status().await?;
    anyhow::ensure!(status.success(), "plain bash failed");
    Ok(())
}

async fn run_confined(sandbox: &Sandbox, home: &Path) -> anyhow::Result<()> {
    let place = home.join(uuid::Uuid::now_v7().to_string());
    sandbox
        .run_once("true", place)
        .await
        .context("in the sandbox")?;
    Ok(())
}

/// Returns the duration in milliseconds.
async fn time(what: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<f64> {
    let begun_at = Instant::now();
    what.await?;
    Ok(begun_at.elapsed().as_secs_f64() * 1e3)
}
