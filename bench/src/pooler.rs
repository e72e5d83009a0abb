//! Processes that share few sessions through PgBouncer in transaction mode, compared with the same processes without
//! it.

use std::time::{Duration, Instant};

use tests::pgbouncer::PgBouncer;

use crate::Bench;
use crate::figure::{Figure, median};
use crate::load::Client;
use crate::service::Service;

/// The number of clients of all APIs together.
const CLIENTS: usize = 32;
const RUN: Duration = Duration::from_secs(6);
const ROUNDS: usize = 3;
/// The minimum share of the rate without a pooler.
const SHARE: f64 = 0.9;

/// The processes of a service, and the sessions of its pooler.
struct Fleet {
    apis: usize,
    workers: usize,
    sessions: u32,
}

const FLEET: Fleet = Fleet {
    apis: 5,
    workers: 100,
    sessions: 50,
};
const QUICK_FLEET: Fleet = Fleet {
    apis: 2,
    workers: 8,
    sessions: 10,
};

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let fleet = bench.scale.choose(FLEET, QUICK_FLEET);
    let direct = rate(bench, &fleet, "pooler_direct", &[]).await?;
    let url = bench.server.empty_database("pooler_shared").await?;
    let pooler = PgBouncer::start(&url, "transaction", fleet.sessions)?;
    let variables = [
        ("DATABASE_URL", pooler.url.clone()),
        ("SKILLET_DATABASE_POOLING", PgBouncer::pooling()?.to_owned()),
        ("SKILLET_DATABASE_DIRECT_URL", url),
    ];
    let shared = rate(bench, &fleet, "pooler_shared", &variables).await?;
    let Fleet {
        apis,
        workers,
        sessions,
    } = fleet;
    let name = |what: &str| format!("whole jobs, {apis} APIs and {workers} workers, {what}");
    let behind = format!("by PgBouncer with {sessions} sessions");
    Ok(vec![
        Figure::new(name("direct"), direct, "jobs/s"),
        Figure::new(name(&behind), shared, "jobs/s").beside(direct),
        Figure::new(
            name(&format!("part of the direct rate {behind}")),
            shared / direct,
            "",
        )
        .at_least(SHARE),
    ])
}

/// Returns the jobs per second.
async fn rate(
    bench: &Bench,
    fleet: &Fleet,
    name: &str,
    variables: &[(&'static str, String)],
) -> anyhow::Result<f64> {
    let mut service = Service::with_environment(&bench.server, name, variables).await?;
    let mut clients = vec![Client::of(&service, "Nothing to do.")?];
    for _ in 1..fleet.apis {
        let url = service.add_api()?;
        clients.push(clients[0].at(&url));
    }
    for _ in 0..fleet.workers {
        service.add_worker(&[]).await?;
    }
    service.settle().await?;
    let mut rates = Vec::new();
    for _ in 0..bench.scale.rounds(ROUNDS) {
        service.forget_jobs().await?;
        let (begun_at, run) = (Instant::now(), bench.scale.lasting(RUN));
        let running = clients
            .iter()
            .map(|it| it.run_at_once(CLIENTS / fleet.apis, run));
        let jobs = futures_util::future::try_join_all(running).await?;
        rates.push(jobs.iter().sum::<usize>() as f64 / begun_at.elapsed().as_secs_f64());
    }
    Ok(median(&rates))
}
