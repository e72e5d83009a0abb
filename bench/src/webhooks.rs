//! Webhooks: the latency from the commit of a milestone to its receiver, and the delivery rate of one worker.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use serde_json::json;
use shared::db::claim::Claimed;
use shared::secret::generate_master_key;
use tokio::time::timeout;

use crate::Bench;
use crate::feed::{Place, commit, milestone};
use crate::figure::{Figure, times};
use crate::queue::Queue;
use crate::receiver::{Arrival, Receiver};
use crate::service::Service;

/// The number of jobs with milestones, and of those that get one at each tick: 300 per second.
const JOBS: usize = 99;
const JOBS_PER_TICK: usize = 3;
const RUN: Duration = Duration::from_secs(6);
/// The number of webhooks in the second measurement, and the number of milestones per job that they receive at once.
const WEBHOOKS: usize = 8;
const ROUNDS_AT_ONCE: usize = 10;
/// The timeout for a delivery. A longer delay means a defect.
const TIMEOUT: Duration = Duration::from_secs(60);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let environment = [
        ("SKILLET_MASTER_KEY", generate_master_key()),
        ("SKILLET_WEBHOOK_ALLOW", "127.0.0.0/8".to_owned()),
        // The worker that this process simulates sends no heartbeat.
        ("SKILLET_WORKER_SILENCE", "600".to_owned()),
    ];
    let mut service = Service::with_environment(&bench.server, "webhooks", &environment).await?;
    let mut receiver = Receiver::start().await?;
    create_webhook(&service, &receiver).await?;
    let queue = Queue::open(service.pool.clone()).await?;
    // The worker of this process claims all jobs before the other worker starts.
    queue.fill(JOBS).await?;
    let mut jobs = queue.claim(&queue.pool, JOBS as i64).await?;
    sqlx::query("delete from run where state = 'ready'")
        .execute(&service.pool)
        .await?;
    service.add_worker(&[]).await?;
    service.settle().await?;

    let committed = commit(&queue, &mut jobs, JOBS_PER_TICK, bench.scale.lasting(RUN)).await?;
    let sample = delays(&mut receiver, &committed).await?;
    for _ in 1..WEBHOOKS {
        create_webhook(&service, &receiver).await?;
    }
    let rate = rate(&queue, &mut jobs, &mut receiver).await?;
    let name = "milestone committed → received by a webhook, 300/s";
    let mut figures = times(name, &sample, Some((20.0, 200.0))).to_vec();
    figures.push(Figure::new("deliveries of one worker", rate, "1/s").at_least(1000.0));
    Ok(figures)
}

async fn create_webhook(service: &Service, receiver: &Receiver) -> anyhow::Result<()> {
    let url = format!("{}/v1/webhooks", service.url);
    let request = reqwest::Client::new().post(url).bearer_auth(&service.key);
    let request = request.json(&json!({"url": receiver.url, "events": ["job.retrying"]}));
    request.send().await?.error_for_status()?;
    Ok(())
}

async fn delays(
    receiver: &mut Receiver,
    committed: &HashMap<Place, Instant>,
) -> anyhow::Result<Vec<f64>> {
    let mut sample = Vec::with_capacity(committed.len());
    while sample.len() < committed.len() {
        let (job, seq, at) = next(receiver).await?;
        let committed_at = committed
            .get(&(job, seq))
            .context("received a milestone that was not committed here")?;
        sample.push(at.saturating_duration_since(*committed_at).as_secs_f64() * 1e3);
    }
    Ok(sample)
}

/// Returns the deliveries per second of milestones that are committed together.
async fn rate(queue: &Queue, jobs: &mut [Claimed], receiver: &mut Receiver) -> anyhow::Result<f64> {
    let begun_at = Instant::now();
    for _ in 0..ROUNDS_AT_ONCE {
        queue.append(jobs, milestone).await?;
    }
    let count = ROUNDS_AT_ONCE * jobs.len() * WEBHOOKS;
    for _ in 0..count {
        next(receiver).await?;
    }
    Ok(count as f64 / begun_at.elapsed().as_secs_f64())
}

async fn next(receiver: &mut Receiver) -> anyhow::Result<Arrival> {
    let arrived = timeout(TIMEOUT, receiver.arrivals.recv()).await;
    arrived
        .context("a delivery did not arrive")?
        .context("the receiver has ended")
}
