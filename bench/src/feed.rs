//! The feed: its cost for tenants that use it, and the latency of a tenant's stream.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use chrono::Utc;
use shared::db::claim::Claimed;
use shared::db::{self, Pool};
use shared::event::{EventData, JobRetrying, RetryCause};
use shared::feed::FeedEvent;
use shared::id::JobId;
use shared::sse::SseDecoder;
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::Bench;
use crate::core::work;
use crate::figure::{Figure, median, times};
use crate::load::Client;
use crate::queue::{Queue, THOUSAND};
use crate::service::Service;

/// The number of jobs in a round of the queue core, and the number of rounds of each measurement.
const CORE_JOBS: usize = 20_000;
const ROUNDS: usize = 9;
/// The number of clients that run whole jobs, and the duration of a round.
const CLIENTS: usize = 32;
const RUN: Duration = Duration::from_secs(4);
/// The number of jobs with milestones, and of those that get one at each tick: 1,000 per second.
const JOBS: usize = 100;
const JOBS_PER_TICK: usize = 10;
const TICK: Duration = Duration::from_millis(10);
/// The minimum share of the throughput without the feed.
const SHARE: f64 = 0.8;
/// The timeout for a milestone. A longer delay means a defect.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The key of a milestone: its job and its sequence number in the log.
pub(crate) type Place = (JobId, i64);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let core = core_share(bench).await?;
    let jobs = whole_job_share(bench).await?;
    let delays = delays(bench).await?;
    let name = "milestone committed → received on the tenant's stream, 1,000 events/s";
    let mut figures = vec![
        Figure::new("queue core with the feed, part of that without", core, "").at_least(SHARE),
        Figure::new("whole jobs with the feed, part of those without", jobs, "").at_least(SHARE),
    ];
    figures.extend(times(name, &delays, Some((10.0, 100.0))));
    Ok(figures)
}

/// Measures the queue core of a tenant with the feed, as a share of that of a tenant without. Both are interleaved.
async fn core_share(bench: &Bench) -> anyhow::Result<f64> {
    let jobs = bench.scale.count(CORE_JOBS);
    let (_, pool) = bench.server.database("feed_core", 16).await?;
    let without = Queue::open(pool.clone()).await?;
    let tenant = db::tenant::get_or_insert(&pool, "fed").await?.id;
    db::feed::enable(&pool, tenant).await?;
    let with = without.of_tenant(tenant);
    let mut shares = Vec::new();
    for _ in 0..bench.scale.rounds(ROUNDS) {
        let plain = core_rate(&pool, &without, jobs).await?;
        shares.push(core_rate(&pool, &with, jobs).await? / plain);
    }
    Ok(median(&shares))
}

async fn core_rate(pool: &Pool, queue: &Queue, jobs: usize) -> anyhow::Result<f64> {
    queue.fill(jobs).await?;
    // Dead rows of earlier rounds must not count for this round.
    sqlx::query("vacuum analyze").execute(pool).await?;
    sqlx::query("checkpoint").execute(pool).await?;
    let begun_at = Instant::now();
    work(queue).await?;
    Ok(jobs as f64 / begun_at.elapsed().as_secs_f64())
}

/// Measures whole jobs of a tenant with the feed, as a share of those without. Both are interleaved.
async fn whole_job_share(bench: &Bench) -> anyhow::Result<f64> {
    let service = Service::with_worker(&bench.server, "feed_jobs").await?;
    let tenant = db::tenant::get_or_insert(&service.pool, "bench").await?.id;
    let client = Client::of(&service, "Nothing to do.")?;
    client.run().await?;
    let mut shares = Vec::new();
    for _ in 0..bench.scale.rounds(ROUNDS) {
        sqlx::query("delete from feed_tenant")
            .execute(&service.pool)
            .await?;
        let plain = job_rate(bench, &service, &client).await?;
        db::feed::enable(&service.pool, tenant).await?;
        shares.push(job_rate(bench, &service, &client).await? / plain);
    }
    Ok(median(&shares))
}

async fn job_rate(bench: &Bench, service: &Service, client: &Client) -> anyhow::Result<f64> {
    service.forget_jobs().await?;
    let begun_at = Instant::now();
    let jobs = client
        .run_at_once(CLIENTS, bench.scale.lasting(RUN))
        .await?;
    Ok(jobs as f64 / begun_at.elapsed().as_secs_f64())
}

/// Returns the time from the commit of each milestone to its arrival on the tenant's stream, in milliseconds.
async fn delays(bench: &Bench) -> anyhow::Result<Vec<f64>> {
    let service = Service::start(&bench.server, "feed_stream").await?;
    let queue = Queue::open(service.pool.clone()).await?;
    let stream = open_stream(&service).await?;
    queue.fill(THOUSAND).await?;
    let mut jobs = queue.claim(&queue.pool, JOBS as i64).await?;
    let (received, mut arrivals) = mpsc::unbounded_channel();
    let _following = AbortOnDropHandle::new(tokio::spawn(follow(stream, received)));
    let committed = commit(&queue, &mut jobs, JOBS_PER_TICK, bench.scale.lasting(RUN)).await?;
    let mut sample = Vec::with_capacity(committed.len());
    while sample.len() < committed.len() {
        let arrived = timeout(TIMEOUT, arrivals.recv()).await;
        let (place, at): (Place, Instant) = arrived
            .context("a milestone did not arrive")?
            .context("the stream has ended")?;
        // The stream also contains earlier milestones.
        if let Some(committed_at) = committed.get(&place) {
            // The stream may deliver a milestone before this process knows that it was committed.
            sample.push(at.saturating_duration_since(*committed_at).as_secs_f64() * 1e3);
        }
    }
    Ok(sample)
}

async fn open_stream(service: &Service) -> anyhow::Result<reqwest::Response> {
    let url = format!("{}/v1/events/stream", service.url);
    let request = reqwest::Client::new().get(url).bearer_auth(&service.key);
    Ok(request.send().await?.error_for_status()?)
}

pub(crate) fn milestone() -> EventData {
    EventData::JobRetrying(JobRetrying {
        cause: RetryCause::Drain,
        message: "The worker was stopped and released the job.".to_owned(),
        run_at: Utc::now(),
    })
}

/// Commits milestones of `jobs_per_tick` jobs every 10 ms, and returns the commit time of each.
pub(crate) async fn commit(
    queue: &Queue,
    jobs: &mut [Claimed],
    jobs_per_tick: usize,
    run: Duration,
) -> anyhow::Result<HashMap<Place, Instant>> {
    let mut committed = HashMap::new();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let begun_at = Instant::now();
    while begun_at.elapsed() < run {
        for batch in jobs.chunks_mut(jobs_per_tick) {
            ticks.tick().await;
            queue.append(batch, milestone).await?;
            let now = Instant::now();
            committed.extend(batch.iter().map(|it| ((it.job.id, it.last_seq), now)));
        }
    }
    Ok(committed)
}

/// Sends the arrival time of each milestone.
async fn follow(
    mut stream: reqwest::Response,
    received: mpsc::UnboundedSender<(Place, Instant)>,
) -> anyhow::Result<()> {
    let mut decoder = SseDecoder::default();
    while let Some(chunk) = stream.chunk().await? {
        let now = Instant::now();
        for event in decoder.decode(&chunk)? {
            if event.name != "cursor" {
                let milestone: FeedEvent = serde_json::from_str(&event.data)?;
                received.send(((milestone.job_id, milestone.seq), now))?;
            }
        }
    }
    Ok(())
}
