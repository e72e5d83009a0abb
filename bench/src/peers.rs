//! Other queues on Postgres, with the same work on the same server: `bench/peers`.

use std::path::Path;

use anyhow::{Context, ensure};
use tokio::process::Command;

use crate::Bench;
use crate::figure::Figure;

/// Runs the script of the other queues, which prints figures in the format of this program.
pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers/run");
    let output = Command::new(&script)
        .env("DATABASE_URL", bench.server.empty_database("peers").await?)
        .env("PEERS_SCALE", bench.scale.count(2).to_string())
        .stderr(std::process::Stdio::inherit())
        .output()
        .await
        .with_context(|| format!("cannot run {}", script.display()))?;
    ensure!(output.status.success(), "{} failed", script.display());
    serde_json::from_slice(&output.stdout)
        .context("the output of the peers' script is not a list of figures")
}
