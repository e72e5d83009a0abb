//! What the sandbox costs: a command in it, beside the same command without.

use std::path::Path;
use std::time::Instant;

use anyhow::Context;
use tokio::process::Command;
use worker::sandbox::{Mode, Sandbox};

use crate::figure::{Figure, percentile};

const RUNS: usize = 300;
const AT_ONCE: usize = 50;

/// Times `bash -c true`: plain, and in a sandbox.
pub(crate) async fn measure() -> anyhow::Result<Vec<Figure>> {
    let home = tempfile::tempdir()?;
    let sandbox = worker::sandbox::open(Mode::Required, home.path(), Vec::new()).await?;
    let (mut plain, mut confined) = (Vec::new(), Vec::new());
    // In turns, so that both meet the same noise.
    for _ in 0..RUNS {
        plain.push(time(run_plain()).await?);
        confined.push(time(run_confined(&sandbox, home.path())).await?);
    }
    let (plain, confined) = (percentile(&plain, 50), percentile(&confined, 50));
    let at_once = time(async {
        let all = (0..AT_ONCE).map(|_| run_confined(&sandbox, home.path()));
        futures_util::future::try_join_all(all).await.map(drop)
    });
    Ok(vec![
        Figure::new("`bash -c true`, plain, p50", plain, "ms", None),
        Figure::new("`bash -c true`, in a sandbox, p50", confined, "ms", None),
        Figure::at_most("sandboxed to plain, p50", confined / plain, "ratio", 3.0),
        Figure::new(
            &format!("{AT_ONCE} sandboxes at once, until the last has ended"),
            at_once.await?,
            "ms",
            None,
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

/// In milliseconds.
async fn time(what: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<f64> {
    let begun_at = Instant::now();
    what.await?;
    Ok(begun_at.elapsed().as_secs_f64() * 1e3)
}
