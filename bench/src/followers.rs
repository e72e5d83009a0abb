//! Followers of jobs: the latency of an event, and the memory of a follower.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures_util::{StreamExt, TryStreamExt, stream};
use shared::db::claim::Claimed;
use shared::event::{EventData, LogLevel, LogLine};
use shared::id::JobId;
use shared::sse::SseDecoder;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::Bench;
use crate::figure::{Figure, times};
use crate::queue::{Queue, THOUSAND};
use crate::raw_follower::RawClient;
use crate::service::Service;

/// The number of jobs that are followed while they grow, and of those that get an event at each tick: 1,000 per
/// second.
const JOBS: usize = 100;
const JOBS_PER_TICK: usize = 10;
const TICK: Duration = Duration::from_millis(10);
const RUN: Duration = Duration::from_secs(6);
/// The number of followers whose memory is measured, and how many of them connect at once.
const FOLLOWERS: usize = 10_000;
pub(crate) const CONNECTING: usize = 100;
/// The number of jobs for which one statement writes.
pub(crate) const BATCH: usize = 100;
/// The timeout for an event. A longer delay means a defect.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let service = Service::start(&bench.server, "followers").await?;
    let queue = Queue::open(service.pool.clone()).await?;
    queue.fill(THOUSAND).await?;
    let mut jobs = queue.claim(&queue.pool, JOBS as i64).await?;
    let watchers = Watchers::open(&service, &jobs).await?;
    let (begun_at, run) = (Instant::now(), bench.scale.lasting(RUN));
    let goes_on = || begun_at.elapsed() < run;
    let sample = watchers.delays(&queue, &mut jobs, goes_on).await?;
    let mut jobs = queue.claim(&queue.pool, (THOUSAND - JOBS) as i64).await?;
    let each = kib_per_follower(&service, &queue, &mut jobs).await?;
    let name = "event committed → received by a follower, 1,000 events/s";
    let memory = "memory of the API for each of 10,000 followers";
    let mut figures = times(name, &sample, Some((5.0, 25.0))).to_vec();
    figures.push(Figure::new(memory, each, "KiB").at_most(10.0));
    Ok(figures)
}

pub(crate) fn line() -> EventData {
    EventData::Log(LogLine {
        level: LogLevel::Info,
        message: "The quick brown fox jumps over the lazy dog, and all who follow it hear."
            .to_owned(),
    })
}

/// One follower for each of several jobs. The followers report when events arrive.
pub(crate) struct Watchers {
    following: JoinSet<anyhow::Result<()>>,
    arrivals: mpsc::UnboundedReceiver<((JobId, i64), Instant)>,
}

impl Watchers {
    pub(crate) async fn open(service: &Service, jobs: &[Claimed]) -> anyhow::Result<Self> {
        let http = reqwest::Client::new();
        let (received, arrivals) = mpsc::unbounded_channel();
        let mut following = JoinSet::new();
        for claimed in jobs {
            let (job, seq) = (claimed.job.id, claimed.last_seq);
            let url = format!("{}/v1/jobs/{job}/stream?after={seq}", service.url);
            let answer = http.get(url).bearer_auth(&service.key).send().await?;
            following.spawn(follow(answer.error_for_status()?, job, received.clone()));
        }
        Ok(Self {
            following,
            arrivals,
        })
    }

    /// Appends 1,000 events per second, and returns the milliseconds from the commit of each event to its arrival.
    pub(crate) async fn delays(
        mut self,
        queue: &Queue,
        jobs: &mut [Claimed],
        goes_on: impl Fn() -> bool,
    ) -> anyhow::Result<Vec<f64>> {
        let mut committed = HashMap::new();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        while goes_on() {
            for batch in jobs.chunks_mut(JOBS_PER_TICK) {
                ticks.tick().await;
                queue.append(batch, line).await?;
                let now = Instant::now();
                committed.extend(batch.iter().map(|it| ((it.job.id, it.last_seq), now)));
            }
        }
        let mut sample = Vec::with_capacity(committed.len());
        while sample.len() < committed.len() {
            let arrived = timeout(TIMEOUT, self.arrivals.recv()).await;
            let (entry, at): (_, Instant) = arrived
                .context("an event did not arrive")?
                .context("all followers have ended")?;
            let committed_at = committed
                .get(&entry)
                .context("received an event that was not committed here")?;
            // A follower may receive an event before this process knows that it was committed.
            sample.push(at.saturating_duration_since(*committed_at).as_secs_f64() * 1e3);
        }
        self.following.shutdown().await;
        Ok(sample)
    }
}

/// Sends the arrival time of each event.
async fn follow(
    mut answer: reqwest::Response,
    job: JobId,
    received: mpsc::UnboundedSender<((JobId, i64), Instant)>,
) -> anyhow::Result<()> {
    let mut decoder = SseDecoder::default();
    while let Some(chunk) = answer.chunk().await? {
        let now = Instant::now();
        for event in decoder.decode(&chunk)? {
            received.send(((job, event.id.parse()?), now))?;
        }
    }
    Ok(())
}

/// Returns the memory of the API per follower, after each follower has received an earlier event and a new one.
async fn kib_per_follower(
    service: &Service,
    queue: &Queue,
    jobs: &mut [Claimed],
) -> anyhow::Result<f64> {
    let before = service.api.rss_mib()?;
    let client = RawClient::of(service);
    let connecting = stream::iter(0..FOLLOWERS)
        .map(|number| client.follow_from_start(jobs[number % jobs.len()].job.id))
        .buffer_unordered(CONNECTING);
    let mut followers: Vec<_> = connecting.try_collect().await?;
    for batch in jobs.chunks_mut(BATCH) {
        queue.append(batch, line).await?;
    }
    for follower in &mut followers {
        follower.read_until("event: log").await?;
    }
    let after = service.api.rss_mib()?;
    Ok((after - before) * 1024.0 / FOLLOWERS as f64)
}
