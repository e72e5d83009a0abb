//! The latency from accepting a job to its start, without HTTP.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use shared::db::{self, DedicatedConnection, Listener};
use shared::id::JobId;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::Bench;
use crate::figure::{Figure, times};
use crate::load::{Pacing, paced};
use crate::queue::Queue;

const SLOTS: i64 = 100;
/// The targets in milliseconds for p50 and p99.
const TARGETS: (f64, f64) = (0.8, 2.4);
/// The timeout for the start of a job. A longer delay means a defect.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let (_, pool) = bench.server.database("start", 16).await?;
    let queue = Queue::open(pool).await?;
    let idle = delays(&queue, Pacing::idle(&bench.scale)).await?;
    let steady = delays(&queue, Pacing::steady(&bench.scale)).await?;
    let name = "enqueue committed → handler begins";
    Ok([
        times(&format!("{name}, idle"), &idle, Some(TARGETS)),
        times(&format!("{name}, 300/s"), &steady, Some(TARGETS)),
    ]
    .concat())
}

/// Returns the time from the commit of each job to the start of its handler, in milliseconds.
async fn delays(queue: &Queue, pacing: Pacing) -> anyhow::Result<Vec<f64>> {
    let (begun, mut beginnings) = mpsc::unbounded_channel();
    let bell = Arc::new(Notify::new());
    let mut service = JoinSet::new();
    let listener = Listener::open(&queue.pool, &[db::WORK_CHANNEL]).await?;
    service.spawn(handle(queue.clone(), listener, begun));
    service.spawn(ring(queue.clone(), bell.clone()));

    let committed = paced(pacing, || {
        let (queue, bell) = (queue.clone(), bell.clone());
        async move {
            let job = queue.enqueue().await?;
            let committed_at = Instant::now();
            bell.notify_one();
            Ok((job, committed_at))
        }
    })
    .await?;
    let mut begun_at = HashMap::new();
    while begun_at.len() < committed.len() {
        let (job, at) = timeout(TIMEOUT, beginnings.recv())
            .await
            .context("a job did not begin")?
            .context("the queue's worker ended")?;
        begun_at.insert(job, at);
    }
    service.shutdown().await;
    Ok(committed
        .iter()
        .map(|(job, at)| begun_at[job].saturating_duration_since(*at).as_secs_f64() * 1e3)
        .collect())
}

/// Notifies workers like the API: one notification for all jobs that arrived while the last one was in flight.
async fn ring(queue: Queue, bell: Arc<Notify>) -> anyhow::Result<()> {
    let mut ringing = DedicatedConnection::of(&queue.pool);
    loop {
        bell.notified().await;
        db::run::notify_work(ringing.get().await?).await?;
    }
}

/// Claims jobs on notification, like a worker, and records the start of each job.
async fn handle(
    queue: Queue,
    mut listener: Listener,
    begun: mpsc::UnboundedSender<(JobId, Instant)>,
) -> anyhow::Result<()> {
    let mut claiming = DedicatedConnection::of(&queue.pool);
    let mut endings = JoinSet::new();
    loop {
        let heard = listener.next().await?;
        anyhow::ensure!(heard.is_some(), "the listener's connection is lost");
        let claimed = queue.claim(claiming.get().await?, SLOTS).await?;
        let at = Instant::now();
        for claimed in &claimed {
            begun.send((claimed.job.id, at))?;
        }
        while let Some(ended) = endings.try_join_next() {
            ended??;
        }
        if !claimed.is_empty() {
            let queue = queue.clone();
            endings.spawn(async move { queue.finish(&queue.pool, claimed).await });
        }
    }
}
