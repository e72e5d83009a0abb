//! Workers that end and start all the time, as with an autoscaler: the effect on jobs and tenants, and the time until
//! a new worker runs its first job.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::ensure;
use chrono::{DateTime, Utc};
use futures_util::{StreamExt, TryStreamExt, stream};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use tests::model_server::{ModelServer, Reply};
use tokio::time::{interval, sleep};

use crate::Bench;
use crate::figure::{Figure, percentile};
use crate::jobs::list;
use crate::load::Client;
use crate::process::Process;
use crate::service::Service;

const STORM: Duration = Duration::from_secs(600);
const QUICK_STORM: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_secs(1);
const WORKERS: usize = 6;
const SLOTS: usize = 10;
/// The number of jobs of each tenant. All tenants have more jobs than their share of the slots. The first tenants have
/// the most jobs and submit first.
const JOBS: [usize; 8] = [60, 40, 30, 20, 15, 13, 12, 10];
/// The time that the model takes for each turn.
const THINKING: Duration = Duration::from_secs(1);
/// The time in which a worker that was told to end must exit.
const TIMEOUT: Duration = Duration::from_secs(40);
/// The minimum of Jain's index between the tenants.
const FAIRNESS: f64 = 0.99;
/// The maximum time in milliseconds from the start of a worker to its first job.
const COLD_START: f64 = 1000.0;
/// Fixed, so that the same workers end in each run.
const SEED: u64 = 1;

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let model = ModelServer::start();
    let is_over = Arc::new(AtomicBool::new(false));
    let ended = is_over.clone();
    // A note about unsaved files is part of one request only, so the requests of later attempts differ.
    model.script_conversation("storm", move |request| {
        let reply = if ended.load(Ordering::Relaxed) {
            Reply::text("I have looked long enough.")
        } else {
            Reply::call("file_list", list(request.turn()))
        };
        reply.delay(THINKING)
    });
    let environment = [
        ("SKILLET_SLOTS", SLOTS.to_string()),
        ("OPENAI_BASE_URL", model.openai_base_url()),
        ("OPENAI_API_KEY", "sk-scripted".to_owned()),
    ];
    let mut service = Service::start(&bench.server, "storm").await?;
    for _ in 0..WORKERS {
        service.add_worker(&environment).await?;
    }
    service.settle().await?;
    // All tenants have submitted their jobs when the first slot is taken.
    service.set_paused(true).await?;
    submit(&service).await?;
    service.set_paused(false).await?;
    let begun_at = Utc::now();
    let storm = bench.scale.choose(STORM, QUICK_STORM);
    let starts = replace_workers(&mut service, &environment, storm).await?;
    let turns = turns_per_tenant(&service, begun_at).await?;
    is_over.store(true, Ordering::Relaxed);

    let jobs = JOBS.iter().sum::<usize>();
    service.until("select count(*) from job_end", jobs).await?;
    let violations = model.violations();
    ensure!(violations.is_empty(), "{}", violations.join("\n"));
    let count = async |query| -> anyhow::Result<f64> {
        let count: i64 = sqlx::query_scalar(query).fetch_one(&service.pool).await?;
        Ok(count as f64)
    };
    let completed = count("select count(*) from job_end where outcome = 'completed'").await?;
    let drained =
        "select count(*) from job_event where type = 'job.retrying' and data ->> 'cause' = 'drain'";
    let lost = "select count(*) from job_event where type = 'job.retrying' and data ->> 'cause' <> 'drain'";
    let first_jobs = first_jobs(&service, &starts).await?;
    ensure!(!first_jobs.is_empty(), "no new worker got a job");
    let name =
        |what: &str| format!("{jobs} jobs while a worker ends and starts each second: {what}");
    let cold = |percent| {
        let name = format!("start of a worker → its first job.started, p{percent}");
        Figure::new(name, percentile(&first_jobs, percent), "ms")
    };
    Ok(vec![
        Figure::new(name("workers that ended"), starts.len() as f64, ""),
        Figure::new(name("attempts handed back"), count(drained).await?, ""),
        Figure::new(name("attempts lost"), count(lost).await?, "").at_most(0.0),
        Figure::new(name("completed"), completed, "").at_least(jobs as f64),
        Figure::new(name("fairness between tenants"), jain(&turns), "").at_least(FAIRNESS),
        cold(50),
        cold(99).at_most(COLD_START),
    ])
}

/// Submits the jobs of one tenant after the other.
async fn submit(service: &Service) -> anyhow::Result<()> {
    let body = json!({
        "agent": "default", "model": "openai/scripted", "prompt": "#storm",
        "limits": {"max_iterations": 1000, "timeout_seconds": 86_400},
    });
    for (number, count) in JOBS.into_iter().enumerate() {
        let key = service.key_of(&format!("tenant-{number}")).await?;
        let client = Client::with_key(service, &key, body.clone())?;
        let submitted = stream::iter(0..count).map(|_| client.submit());
        submitted
            .buffer_unordered(16)
            .try_for_each(async |_| Ok(()))
            .await?;
    }
    Ok(())
}

/// Ends a worker every second and starts another one. Returns the start time of each worker by its process id.
async fn replace_workers(
    service: &mut Service,
    environment: &[(&'static str, String)],
    storm: Duration,
) -> anyhow::Result<HashMap<u32, DateTime<Utc>>> {
    let mut random = StdRng::seed_from_u64(SEED);
    let mut starts = HashMap::new();
    let mut leaving: Vec<Process> = Vec::new();
    let mut ticks = interval(PAUSE);
    let begun_at = Instant::now();
    while begun_at.elapsed() < storm {
        ticks.tick().await;
        let started_at = Utc::now();
        let worker = service.start_worker(environment)?;
        starts.insert(worker.id(), started_at);
        let place = random.random_range(0..WORKERS);
        let ended = std::mem::replace(&mut service.workers[place], worker);
        ended.terminate()?;
        leaving.push(ended);
        forget_ended(&mut leaving)?;
    }
    let told_at = Instant::now();
    while !leaving.is_empty() {
        ensure!(told_at.elapsed() < TIMEOUT, "a worker did not end");
        sleep(Duration::from_millis(50)).await;
        forget_ended(&mut leaving)?;
    }
    Ok(starts)
}

fn forget_ended(processes: &mut Vec<Process>) -> anyhow::Result<()> {
    let mut left = Vec::new();
    for mut process in processes.drain(..) {
        if !process.has_ended()? {
            left.push(process);
        }
    }
    *processes = left;
    Ok(())
}

/// Returns the number of model replies per tenant since this time.
async fn turns_per_tenant(service: &Service, since: DateTime<Utc>) -> anyhow::Result<Vec<f64>> {
    let turns = "select count(event.seq)::double precision
                 from tenant
                 left join job on job.tenant_id = tenant.id
                 left join job_event as event
                     on event.job_id = job.id and event.type = 'message.completed' and event.at >= $1
                 where tenant.name like 'tenant-%'
                 group by tenant.id";
    let turns: Vec<f64> = sqlx::query_scalar(turns)
        .bind(since)
        .fetch_all(&service.pool)
        .await?;
    ensure!(
        turns.len() == JOBS.len(),
        "not every tenant has model replies"
    );
    Ok(turns)
}

/// Returns the milliseconds from the start of each worker process to its first job.
async fn first_jobs(
    service: &Service,
    starts: &HashMap<u32, DateTime<Utc>>,
) -> anyhow::Result<Vec<f64>> {
    let firsts: Vec<(String, DateTime<Utc>)> = sqlx::query_as(
        "select worker.name, min(event.at)
         from worker
         join job_event as event on event.type = 'job.started' and right(event.data ->> 'worker', 32)::uuid = worker.id
         group by worker.id",
    )
    .fetch_all(&service.pool)
    .await?;
    let millis = firsts.iter().filter_map(|(name, first_at)| {
        let (_, process) = name.rsplit_once(':')?;
        // Workers from before the storm are not in `starts`.
        let started_at = starts.get(&process.parse().ok()?)?;
        Some((*first_at - *started_at).as_seconds_f64() * 1e3)
    });
    Ok(millis.collect())
}

/// Returns Jain's index of fairness: 1 if all have the same, 1/n if one has everything.
fn jain(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    sum * sum / (shares.len() as f64 * squares)
}

#[test]
fn fairness_is_one_if_all_have_the_same() {
    assert_eq!(jain(&[3.0; 4]), 1.0);
    assert_eq!(jain(&[8.0, 0.0, 0.0, 0.0]), 0.25);
}
