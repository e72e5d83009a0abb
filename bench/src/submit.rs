//! The latency from an HTTP request to the committed `job.started`.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use shared::db::{Listener, Pool};
use shared::id::JobId;
use tokio::time::timeout;
use uuid::Uuid;

use crate::Bench;
use crate::figure::{Figure, times};
use crate::load::{Client, Pacing, paced};
use crate::service::Service;

/// The channel on which the database notifies of started jobs.
const STARTS_CHANNEL: &str = "bench_starts";
/// The targets in milliseconds for p50 and p99.
const TARGETS: (f64, f64) = (3.0, 10.0);
/// The timeout for the start of a job. A longer delay means a defect.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut service = Service::start(&bench.server, "submit").await?;
    // The worker has just started, and still asks programs for their versions.
    service.add_worker(&[]).await?;
    notify_of_starts(&service.pool).await?;
    let client = Client::of(&service, "Nothing to do.")?;
    // Work that is done only once must not be measured.
    client.run_in_turn(50).await?;
    let idle = delays(&service, &client, Pacing::idle(&bench.scale)).await?;
    let steady = delays(&service, &client, Pacing::steady(&bench.scale)).await?;
    let name = "submit over HTTP → job.started";
    Ok([
        times(&format!("{name}, idle"), &idle, Some(TARGETS)),
        times(&format!("{name}, 300/s"), &steady, Some(TARGETS)),
    ]
    .concat())
}

/// Creates a trigger that notifies with the commit of each `job.started`. Workers notify only of followed jobs.
async fn notify_of_starts(pool: &Pool) -> anyhow::Result<()> {
    for statement in [
        "create function notify_of_start() returns trigger language plpgsql as $$
         begin
             perform pg_notify('bench_starts', new.job_id::text);
             return null;
         end $$",
        "create trigger notify_of_start after insert on job_event for each row
         when (new.type = 'job.started') execute function notify_of_start()",
    ] {
        sqlx::query(statement).execute(pool).await?;
    }
    Ok(())
}

/// Returns the time from each request to the notification that its job has started, in milliseconds.
async fn delays(service: &Service, client: &Client, pacing: Pacing) -> anyhow::Result<Vec<f64>> {
    let mut listener = Listener::open(&service.pool, &[STARTS_CHANNEL]).await?;
    let mut started = HashMap::new();
    let submitting = paced(pacing, || {
        let client = client.clone();
        async move {
            let sent_at = Instant::now();
            Ok((client.submit().await?, sent_at))
        }
    });
    let mut submitting = std::pin::pin!(submitting);
    let sent = loop {
        tokio::select! {
            sent = &mut submitting => break sent?,
            heard = hear(&mut listener) => note(&mut started, &heard?),
        }
    };
    while !sent.iter().all(|(job, _)| started.contains_key(job)) {
        let heard = timeout(TIMEOUT, hear(&mut listener)).await;
        note(&mut started, &heard.context("a job did not begin")??);
    }
    Ok(sent
        .iter()
        .map(|(job, sent_at)| started[job].duration_since(*sent_at).as_secs_f64() * 1e3)
        .collect())
}

async fn hear(listener: &mut Listener) -> anyhow::Result<String> {
    let heard = listener.next().await?;
    let heard = heard.context("the listener's connection is lost")?;
    Ok(heard.payload().to_owned())
}

fn note(started: &mut HashMap<JobId, Instant>, payload: &str) {
    let now = Instant::now();
    if let Ok(job) = Uuid::try_parse(payload) {
        started.entry(JobId(job)).or_insert(now);
    }
}
