//! The cost of a turn apart from its model: a command that does nothing, with its log.

use crate::Bench;
use crate::figure::{Figure, median};
use crate::load::Client;
use crate::service::Service;

/// The number of commands per job, and the number of jobs.
const COMMANDS: usize = 30;
const JOBS: usize = 40;

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let plain = per_turn(bench, "turns_plain", "off").await?;
    let sandboxed = per_turn(bench, "turns", "required").await?;
    Ok(vec![
        Figure::new("a turn of the loop, `true` unsandboxed", plain, "ms").at_most(2.0),
        Figure::new("a turn of the loop, `true` sandboxed", sandboxed, "ms").at_most(4.5),
    ])
}

/// Returns the time that each command adds to a job that runs alone, in milliseconds.
async fn per_turn(bench: &Bench, database: &str, sandbox: &str) -> anyhow::Result<f64> {
    let mut service = Service::start(&bench.server, database).await?;
    let sandbox = ("SKILLET_SANDBOX", sandbox.to_owned());
    service.add_worker(&[sandbox]).await?;
    service.settle().await?;
    let commands = |count| {
        let blocks = (0..count).map(|number| format!("```bash\ntrue {number}\n```\n"));
        let blocks: String = blocks.collect();
        Client::with(&service, request(&format!("Run these.\n{blocks}")))
    };
    let (none, all) = (commands(0)?, commands(COMMANDS)?);
    none.run_in_turn(20).await?;
    let (mut without, mut with) = (Vec::new(), Vec::new());
    // Interleaved, so that both are exposed to the same noise.
    for _ in 0..bench.scale.count(JOBS) {
        without.extend(none.run_in_turn(1).await?);
        with.extend(all.run_in_turn(1).await?);
    }
    Ok((median(&with) - median(&without)) / COMMANDS as f64)
}

fn request(prompt: &str) -> serde_json::Value {
    serde_json::json!({
        "skill": "shell",
        "model": "script/bash",
        "prompt": prompt,
        "limits": {"max_iterations": COMMANDS + 1},
    })
}
