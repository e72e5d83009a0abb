//! Followers that lose their connections and all reconnect at once: the time until the last one has caught up, and the
//! effect on other followers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use futures_util::{StreamExt, TryStreamExt, stream};
use rustix::process::{Resource, getrlimit};
use shared::db::claim::Claimed;
use shared::id::JobId;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::task::AbortOnDropHandle;

use crate::Bench;
use crate::figure::{Figure, percentile, rounded};
use crate::followers::{BATCH, CONNECTING, Watchers, line};
use crate::queue::{Queue, THOUSAND};
use crate::raw_follower::{RawClient, RawFollower};
use crate::service::Service;

const FOLLOWERS: usize = 10_000;
const QUICK_FOLLOWERS: usize = 2_000;
/// The number of jobs whose followers stay connected.
const STEADY: usize = 100;
/// The number of events of each job while its follower is connected, and while it is not.
const EVENTS: usize = 20;
const MISSED: usize = 5;
/// The pause before a follower without a stream tries again, and the time limit for its attempts.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
const TIMEOUT: Duration = Duration::from_secs(120);
/// The maximum time in seconds until the last follower has caught up.
const CAUGHT_UP: f64 = 10.0;
/// The maximum latency in milliseconds of events to other followers.
const LATE: f64 = 250.0;

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    // Each follower needs an open file in this process and one in the API, which needs some files for other purposes.
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = usize::try_from(files / 2)?;
    let count = bench.scale.choose(FOLLOWERS, QUICK_FOLLOWERS).min(most);
    let service = Service::start(&bench.server, "reconnects").await?;
    let queue = Queue::open(service.pool.clone()).await?;
    queue.fill(STEADY + count).await?;
    let mut steady = queue.claim(&queue.pool, STEADY as i64).await?;
    let mut jobs = Vec::with_capacity(count);
    while jobs.len() < count {
        let missing = THOUSAND.min(count - jobs.len());
        let more = queue.claim(&queue.pool, missing as i64).await?;
        ensure!(!more.is_empty(), "a claim returned no jobs");
        jobs.extend(more);
    }
    let client = RawClient::of(&service);
    let connecting = stream::iter(&jobs)
        .map(|claimed| client.follow_from_start(claimed.job.id))
        .buffered(CONNECTING);
    let mut followers: Vec<_> = connecting.try_collect().await?;
    let micros = micros_per_event(&service, &queue, &mut jobs, &mut followers).await?;

    let watchers = Watchers::open(&service, &steady).await?;
    let last_seen: Vec<_> = jobs.iter().map(|it| (it.job.id, it.last_seq)).collect();
    drop(followers);
    append(&queue, &mut jobs, MISSED).await?;
    let is_over = Arc::new(AtomicBool::new(false));
    let ended = is_over.clone();
    // A separate task, so that it does not disturb the timing of the other followers' events.
    let reconnecting = AbortOnDropHandle::new(tokio::spawn(async move {
        let reconnected = reconnect(&client, last_seen).await;
        ended.store(true, Ordering::Relaxed);
        reconnected
    }));
    let goes_on = || !is_over.load(Ordering::Relaxed);
    let late = watchers.delays(&queue, &mut steady, goes_on).await?;
    let Reconnected { took, failed } = reconnecting.await??;

    let count = rounded(count as f64);
    let when = format!("{count} followers reconnect at once");
    let meanwhile = |percent| {
        let name = format!("event → another follower while {when}, p{percent}");
        Figure::new(name, percentile(&late, percent), "ms")
    };
    Ok(vec![
        Figure::new(
            format!("processor time of the API for each event to one of {count} followers"),
            micros,
            "µs",
        ),
        Figure::new(
            format!("{when} → the last one has caught up"),
            took.as_secs_f64(),
            "s",
        )
        .at_most(CAUGHT_UP),
        Figure::new(format!("{when}: attempts that failed"), failed as f64, ""),
        meanwhile(50),
        meanwhile(99).at_most(LATE),
    ])
}

/// Appends this many events to each job.
async fn append(queue: &Queue, jobs: &mut [Claimed], events: usize) -> anyhow::Result<()> {
    for _ in 0..events {
        for batch in jobs.chunks_mut(BATCH) {
            queue.append(batch, line).await?;
        }
    }
    Ok(())
}

/// Returns the CPU time of the API per event, from the database to the follower, in microseconds.
async fn micros_per_event(
    service: &Service,
    queue: &Queue,
    jobs: &mut [Claimed],
    followers: &mut [RawFollower],
) -> anyhow::Result<f64> {
    let before = service.api.cpu_seconds()?;
    append(queue, jobs, EVENTS).await?;
    for (follower, claimed) in followers.iter_mut().zip(&*jobs) {
        follower.read_event(claimed.last_seq).await?;
    }
    let seconds = service.api.cpu_seconds()? - before;
    Ok(seconds * 1e6 / (jobs.len() * EVENTS) as f64)
}

struct Reconnected {
    /// The time until the last follower had received everything.
    took: Duration,
    /// The number of attempts without a stream, which were repeated.
    failed: usize,
}

/// Opens all streams at once, each after the last event that its follower received.
async fn reconnect(
    client: &RawClient,
    last_seen: Vec<(JobId, i64)>,
) -> anyhow::Result<Reconnected> {
    let begun_at = Instant::now();
    let mut coming = JoinSet::new();
    for (job, last) in last_seen {
        let client = client.clone();
        coming.spawn(async move { catch_up(&client, job, last).await });
    }
    let (mut back, mut failed) = (Vec::new(), 0);
    while let Some(done) = coming.join_next().await {
        let (follower, more) = done??;
        back.push(follower);
        failed += more;
    }
    Ok(Reconnected {
        took: begun_at.elapsed(),
        failed,
    })
}

/// Returns the follower when it has received the events that it missed, and the number of attempts that failed before.
async fn catch_up(
    client: &RawClient,
    job: JobId,
    last: i64,
) -> anyhow::Result<(RawFollower, usize)> {
    let begun_at = Instant::now();
    let mut failed = 0;
    loop {
        let attempt = async {
            let mut follower = client.follow(job, last).await?;
            follower.read_event(last + MISSED as i64).await?;
            anyhow::Ok(follower)
        };
        match attempt.await {
            Ok(follower) => return Ok((follower, failed)),
            Err(error) if begun_at.elapsed() > TIMEOUT => return Err(error),
            Err(_) => failed += 1,
        }
        sleep(RETRY_PAUSE).await;
    }
}
