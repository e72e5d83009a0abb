//! Very many jobs of ten turns in one run: the rate of the last jobs compared with a new service, the space that each
//! job takes in the database, and the waiting time of another tenant's jobs.

use std::time::Duration;

use anyhow::{Context, ensure};
use shared::db;
use sqlx::{Connection, PgConnection};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::Bench;
use crate::figure::{Figure, rounded, times};
use crate::jobs::{TURNS, of_ten_turns};
use crate::load::Client;
use crate::service::Service;

const JOBS: usize = 1_000_000;
const QUICK_JOBS: usize = 20_000;
/// The number of jobs per request.
const BATCH: usize = 1000;
/// The pause between two jobs of the other tenant.
const PROBE_PAUSE: Duration = Duration::from_secs(1);
/// A rate in jobs per second that any machine can reach.
const SLOWEST: f64 = 2.0;
/// The additional time for the start.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The minimum rate of the last tenth, as a share of that of a new service right after it. The first tenth is not the
/// baseline, because it ran about an hour before, when a shared host may have been twice as fast.
const STEADINESS: f64 = 0.9;
/// The new service runs one job for each hundred jobs of the main run.
const NEW_SERVICE_RATIO: usize = 100;

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let jobs = match bench.jobs {
        Some(jobs) => usize::try_from(jobs)?,
        None => bench.scale.choose(JOBS, QUICK_JOBS),
    };
    let Run {
        rates: [whole, first, last],
        before,
        after,
        probes,
    } = Run::of(bench, "million", jobs).await?;
    let new = Run::of(bench, "million_new", (jobs / NEW_SERVICE_RATIO).max(BATCH)).await?;
    let probe_name = "job.queued → job.started, a job of another tenant each second meanwhile";
    let count = rounded(jobs as f64);
    let name = |what: &str| format!("{count} jobs of ten turns in one go: {what}");
    let kib = |what: &str, before: i64, after: i64| {
        let bytes = (after - before) as f64 / jobs as f64;
        Figure::new(name(what), bytes / 1024.0, "KiB/job")
    };
    let mut figures = vec![
        Figure::new(name("all"), whole, "jobs/s"),
        Figure::new(name("the first tenth"), first, "jobs/s"),
        Figure::new(name("the last tenth"), last, "jobs/s"),
        Figure::new(name("a new service after them"), new.rates[0], "jobs/s"),
        Figure::new(
            name("rate of the last tenth, part of that of the new service"),
            last / new.rates[0],
            "",
        )
        .at_least(STEADINESS),
        kib("size of the database", before.database, after.database),
        kib("of that, the log", before.log, after.log),
        kib("write-ahead log", before.wal, after.wal),
    ];
    figures.extend(times(probe_name, &probes, None));
    Ok(figures)
}

/// The measurements of a run with many jobs.
struct Run {
    /// Jobs per second: of all jobs, of the first tenth and of the last tenth.
    rates: [f64; 3],
    before: Size,
    after: Size,
    /// The waiting time of each job of the other tenant, in milliseconds.
    probes: Vec<f64>,
}

impl Run {
    /// Submits the jobs to a new service that is paused, and then lets it run them.
    async fn of(bench: &Bench, name: &str, jobs: usize) -> anyhow::Result<Self> {
        let service = Service::with_worker(&bench.server, name).await?;
        let client = Client::with(&service, of_ten_turns())?;
        let job = client.run().await?;
        ensure!(
            job["usage"]["iterations"] == TURNS,
            "expected {TURNS} turns: {job}"
        );
        service.forget_jobs().await?;
        // The statement timeout of the pool is too short for statements that read everything.
        let mut connection = PgConnection::connect(service.database_url()).await?;
        let before = Size::of(&mut connection).await?;
        service.set_paused(true).await?;
        for submitted in (0..jobs).step_by(BATCH) {
            client.submit_batch(BATCH.min(jobs - submitted)).await?;
        }
        service.set_paused(false).await?;
        let most = TIMEOUT + Duration::from_secs_f64(jobs as f64 / SLOWEST);
        let probes = timeout(most, run(&service)).await;
        Ok(Self {
            probes: probes.context("the jobs did not end")??,
            after: Size::of(&mut connection).await?,
            rates: rates(&mut connection, jobs).await?,
            before,
        })
    }
}

/// Waits until no job of the first tenant is left, and returns the waiting time of each job of another tenant in
/// milliseconds.
async fn run(service: &Service) -> anyhow::Result<Vec<f64>> {
    let key = service.key_of("probe").await?;
    let body =
        serde_json::json!({"skill": "shell", "model": "script/bash", "prompt": "Nothing to do."});
    let probe = Client::with_key(service, &key, body)?;
    let mut ticks = interval(PROBE_PAUSE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut submitted = Vec::new();
    let tenant = db::tenant::get_or_insert(&service.pool, "bench").await?.id;
    // The index of the first condition is small. The second condition is evaluated only at the end.
    let left = "select exists (select from run where tenant_id = $1 and state = 'running')
                    or exists (select from run where tenant_id = $1 and state = 'ready')";
    while sqlx::query_scalar(left)
        .bind(tenant)
        .fetch_one(&service.pool)
        .await?
    {
        ticks.tick().await;
        submitted.push(probe.submit().await?);
    }
    service
        .until("select (not exists (select from run))::int::bigint", 1)
        .await?;
    let waited = "select (extract(epoch from started.at - queued.at) * 1000)::double precision
                  from job_event as queued
                  join job_event as started on started.job_id = queued.job_id and started.type = 'job.started'
                  where queued.type = 'job.queued' and queued.job_id = any($1)";
    let waited = sqlx::query_scalar(waited).bind(&submitted);
    let waited: Vec<f64> = waited.fetch_all(&service.pool).await?;
    ensure!(
        waited.len() == submitted.len(),
        "not every job of the other tenant has started once"
    );
    Ok(waited)
}

/// Returns the jobs that ended per second: of all jobs, of the first tenth and of the last tenth.
async fn rates(connection: &mut PgConnection, jobs: usize) -> anyhow::Result<[f64; 3]> {
    let completed = "select count(*) from job_end where outcome = 'completed'";
    let completed: i64 = sqlx::query_scalar(completed)
        .fetch_one(&mut *connection)
        .await?;
    ensure!(completed >= jobs as i64, "only {completed} jobs completed");
    let (whole, first, last): (f64, f64, f64) = sqlx::query_as(
        "select extract(epoch from ends[4] - ends[1])::double precision,
             extract(epoch from ends[2] - ends[1])::double precision,
             extract(epoch from ends[4] - ends[3])::double precision
         from (
             select percentile_disc(array[0, 0.1, 0.9, 1]) within group (order by finished_at) as ends from job_end
         ) as tenths",
    )
    .fetch_one(connection)
    .await?;
    let (jobs, tenth) = (completed as f64, completed as f64 / 10.0);
    Ok([jobs / whole, tenth / first, tenth / last])
}

/// Sizes in bytes.
struct Size {
    database: i64,
    /// The partitions of the events, without live output.
    log: i64,
    wal: i64,
}

impl Size {
    async fn of(connection: &mut PgConnection) -> anyhow::Result<Self> {
        let (database, log, wal) = sqlx::query_as(
            "select pg_database_size(current_database()),
                 (select sum(pg_total_relation_size(inhrelid))::bigint
                  from pg_inherits where inhparent = 'job_event'::regclass),
                 (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::bigint",
        )
        .fetch_one(connection)
        .await?;
        Ok(Self { database, log, wal })
    }
}
