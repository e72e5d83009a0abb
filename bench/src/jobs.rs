//! Whole jobs over HTTP: submitted, run and finished, with log and result.
//!
//! `script/bash` answers a model call without a network, so the figure is the cost of Skillet itself. A second figure
//! uses a provider's wire format, with the model server on the same processors.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tests::model_server::{ModelServer, Reply};

use crate::Bench;
use crate::figure::{Figure, median, percentile};
use crate::load::Client;
use crate::process::own_cpu_seconds;
use crate::server::Server;
use crate::service::Service;

const CLIENTS: usize = 32;
const RUN: Duration = Duration::from_secs(5);
const ROUNDS: usize = 3;
const IN_TURN: usize = 200;
pub(crate) const TURNS: usize = 10;

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let model = ModelServer::start();
    model.script_with("once", |_| Reply::text("There is nothing to do."));
    model.script_with("ten", |request| match request.turn() + 1 {
        TURNS => Reply::text("I have looked often enough."),
        turn => Reply::call("file_list", list(turn)),
    });
    let mut service = Service::start(&bench.server, "jobs").await?;
    service
        .add_worker(&[
            ("OPENAI_BASE_URL", model.openai_base_url()),
            ("OPENAI_API_KEY", "sk-scripted".to_owned()),
        ])
        .await?;
    service.settle().await?;

    let mut figures = vec![
        Figure::new("memory of an idle API", service.api.rss_mib()?, "MiB"),
        Figure::new(
            "memory of an idle worker",
            service.workers[0].rss_mib()?,
            "MiB",
        ),
    ];
    let once = Client::of(&service, "Nothing to do.")?;
    let alone = once.run_in_turn(bench.scale.count(IN_TURN)).await?;
    figures.push(
        Figure::new(
            "whole job, one model call, one at a time, p50",
            percentile(&alone, 50),
            "ms",
        )
        .at_most(5.0),
    );
    let measure = async |name: &str, turns: usize, body| {
        let client = Client::with(&service, body)?;
        let job = client.run().await?;
        anyhow::ensure!(
            job["usage"]["iterations"] == turns,
            "expected {turns} turns: {job}"
        );
        let name = format!("whole jobs, {name}, {CLIENTS} clients");
        many(bench, &service, &client, &name).await
    };
    let commands = (1..TURNS).map(|turn| format!("```bash\ntrue {turn}\n```\n"));
    let commands: String = commands.collect();
    let [rate, costs @ ..] =
        measure("one model call", 1, scripted("shell", "Nothing to do.")).await?;
    figures.push(rate.at_least(1500.0));
    figures.extend(costs);
    figures.extend(measure("one model call over a provider's wire", 1, asked("#once")).await?);
    let [rate, costs @ ..] = measure("ten turns", TURNS, of_ten_turns()).await?;
    figures.push(rate.at_least(400.0));
    figures.extend(costs);
    figures.extend(measure("ten turns over a provider's wire", TURNS, asked("#ten")).await?);
    let sandboxed = scripted("shell", &commands);
    figures.extend(measure("ten turns with nine sandboxed commands", TURNS, sandboxed).await?);
    let violations = model.violations();
    anyhow::ensure!(violations.is_empty(), "{}", violations.join("\n"));
    Ok(figures)
}

/// Returns a job of `script/bash` whose nine tool calls need no process.
pub(crate) fn of_ten_turns() -> Value {
    let lists = (1..TURNS).map(|turn| format!("```call file.list\n{}\n```\n", list(turn)));
    scripted("filesystem", &lists.collect::<String>())
}

fn scripted(skill: &str, prompt: &str) -> Value {
    json!({"skill": skill, "model": "script/bash", "prompt": prompt})
}

/// Returns the arguments of a tool call that needs no process. They differ in each turn.
pub(crate) fn list(turn: usize) -> Value {
    json!({"path": ".", "pattern": format!("*.{turn}")})
}

fn asked(marker: &str) -> Value {
    json!({"agent": "default", "model": "openai/scripted", "prompt": marker})
}

/// Measures jobs per second, and the CPU time per job of each process.
async fn many(
    bench: &Bench,
    service: &Service,
    client: &Client,
    name: &str,
) -> anyhow::Result<[Figure; 5]> {
    let mut rates = Vec::new();
    let mut costs: [Vec<f64>; 4] = Default::default();
    for _ in 0..bench.scale.rounds(ROUNDS) {
        service.forget_jobs().await?;
        let (before, begun_at) = (cpu(&bench.server, service)?, Instant::now());
        let run = bench.scale.lasting(RUN);
        let jobs = client.run_at_once(CLIENTS, run).await? as f64;
        rates.push(jobs / begun_at.elapsed().as_secs_f64());
        let after = cpu(&bench.server, service)?;
        for (cost, (after, before)) in costs.iter_mut().zip(after.iter().zip(before)) {
            cost.push((after - before) / jobs * 1e3);
        }
    }
    let cost = |of: &str, costs: &[f64]| {
        Figure::new(
            format!("{name}: processor time of {of}"),
            median(costs),
            "ms/job",
        )
    };
    Ok([
        Figure::new(name, median(&rates), "jobs/s"),
        cost("the API", &costs[0]),
        cost("the worker", &costs[1]),
        cost("Postgres", &costs[2]),
        cost("clients and model", &costs[3]),
    ])
}

/// Returns the CPU time so far of the API, the worker, Postgres and this process, in seconds.
fn cpu(server: &Server, service: &Service) -> anyhow::Result<[f64; 4]> {
    Ok([
        service.api.cpu_seconds()?,
        service.workers[0].cpu_seconds()?,
        server.cpu_seconds()?,
        own_cpu_seconds()?,
    ])
}
