//! Throughput of the queue alone: no-op jobs, from the claim to the end.
//!
//! For comparison, the same Postgres does the minimum work of any queue, and the minimum work of a queue with a log,
//! on tables of the same shape: [`limit::MinimumWork`].

mod limit;

use std::time::Instant;

use shared::db::DedicatedConnection;
use shared::db::claim::Claimed;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use self::limit::MinimumWork;
use crate::Bench;
use crate::figure::{Figure, median, percentile};
use crate::process::own_cpu_seconds;
use crate::queue::Queue;
use crate::server::Server;

/// The number of jobs that a worker claims at once, and the number of workers.
const BATCH: i64 = 100;
const WORKERS: usize = 2;
const JOBS: usize = 40_000;
const ROUNDS: usize = 5;
/// The minimum share of the limit.
const SHARE: f64 = 0.5;

/// The result of a round.
struct Pace {
    per_second: f64,
    /// CPU time per job in microseconds, of the workers and of Postgres.
    workers: f64,
    postgres: f64,
}

impl Pace {
    fn per_cpu_second(&self) -> f64 {
        1e6 / (self.workers + self.postgres)
    }
}

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let jobs = bench.scale.count(JOBS);
    let (_, pool) = bench.server.database("core", 16).await?;
    let queue = Queue::open(pool.clone()).await?;
    let (mut ours, mut limits, mut logged) = (Vec::new(), Vec::new(), Vec::new());
    // Interleaved, so that all are exposed to the same noise.
    for _ in 0..bench.scale.rounds(ROUNDS) {
        queue.fill(jobs).await?;
        limit::prepare(&pool, MinimumWork::Queue).await?;
        limit::prepare(&pool, MinimumWork::QueueWithLog).await?;
        // Dead rows of earlier rounds must not count for this round.
        sqlx::query("vacuum analyze").execute(&pool).await?;
        sqlx::query("checkpoint").execute(&pool).await?;
        let least = limit::work(&pool, MinimumWork::Queue);
        limits.push(timed(&bench.server, jobs, least).await?);
        let least = limit::work(&pool, MinimumWork::QueueWithLog);
        logged.push(timed(&bench.server, jobs, least).await?);
        ours.push(timed(&bench.server, jobs, work(&queue)).await?);
    }
    let of = |paces: &[Pace], what: fn(&Pace) -> f64| {
        median(&paces.iter().map(what).collect::<Vec<_>>())
    };
    let limit = of(&limits, |pace| pace.per_second);
    let cpu_limit = of(&limits, Pace::per_cpu_second);
    let cost = |whose: &str, cost: fn(&Pace) -> f64| {
        let name = format!("queue core, processor time of {whose}");
        Figure::new(name, of(&ours, cost), "µs/job").beside(of(&limits, cost))
    };
    let shares_of = |limits: &[Pace]| -> Vec<f64> {
        let pairs = ours.iter().zip(limits);
        pairs
            .map(|(ours, limit)| ours.per_second / limit.per_second)
            .collect()
    };
    let shares = shares_of(&limits);
    let share = median(&shares);
    Ok(vec![
        Figure::new("limit: claim 100, delete 100 and keep 100", limit, "jobs/s"),
        Figure::new("queue core", of(&ours, |pace| pace.per_second), "jobs/s")
            .at_least(limit * SHARE)
            .beside(limit),
        Figure::new("queue core, part of the limit", share, "").at_least(SHARE),
        Figure::new(
            "the least with a log: claim 100 with their requests, delete 100, keep 100 and write 200 entries",
            of(&logged, |pace| pace.per_second),
            "jobs/s",
        ),
        Figure::new(
            "queue core, part of the least with a log",
            median(&shares_of(&logged)),
            "",
        ),
        Figure::new(
            "queue core, part of the limit, worst round",
            percentile(&shares, 1),
            "",
        ),
        Figure::new(
            "queue core, per second of processor",
            of(&ours, Pace::per_cpu_second),
            "jobs/s",
        )
        .beside(cpu_limit),
        cost("workers", |pace| pace.workers),
        cost("Postgres", |pace| pace.postgres),
    ])
}

/// Measures the work of ending this many jobs.
async fn timed(
    server: &Server,
    jobs: usize,
    working: impl Future<Output = anyhow::Result<()>>,
) -> anyhow::Result<Pace> {
    let cpu = || anyhow::Ok((own_cpu_seconds()?, server.cpu_seconds()?));
    let (begun_at, before) = (Instant::now(), cpu()?);
    working.await?;
    let (taken, after) = (begun_at.elapsed().as_secs_f64(), cpu()?);
    let each = 1e6 / jobs as f64;
    Ok(Pace {
        per_second: jobs as f64 / taken,
        workers: (after.0 - before.0) * each,
        postgres: (after.1 - before.1) * each,
    })
}

/// Runs workers that claim and finish jobs until none are left.
pub(crate) async fn work(queue: &Queue) -> anyhow::Result<()> {
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let queue = queue.clone();
        workers.spawn(async move {
            // As in a worker, a separate task writes the log through a separate connection.
            let (claimed, mut running) = mpsc::channel(1);
            tokio::try_join!(claim(&queue, claimed), finish(&queue, &mut running)).map(drop)
        });
    }
    all(workers).await
}

async fn claim(queue: &Queue, claimed: mpsc::Sender<Vec<Claimed>>) -> anyhow::Result<()> {
    let mut db = DedicatedConnection::of(&queue.pool);
    loop {
        let batch = queue.claim(db.get().await?, BATCH).await?;
        if batch.is_empty() {
            return Ok(());
        }
        claimed.send(batch).await?;
    }
}

async fn finish(queue: &Queue, running: &mut mpsc::Receiver<Vec<Claimed>>) -> anyhow::Result<()> {
    let mut db = DedicatedConnection::of(&queue.pool);
    while let Some(batch) = running.recv().await {
        queue.finish(db.get().await?, batch).await?;
    }
    Ok(())
}

async fn all(mut workers: JoinSet<anyhow::Result<()>>) -> anyhow::Result<()> {
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}
