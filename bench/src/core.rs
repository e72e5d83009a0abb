//! Throughput of the queue alone: no-op jobs, from the claim to the end.
//!
//! The limit is what the same Postgres does on tables of the same shape with the least work that any queue
//! needs: claim and commit, then delete, insert a result of the same size and commit.

use std::time::Instant;

use shared::db::claim::Claimed;
use shared::db::{DedicatedConnection, Pool};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::Bench;
use crate::figure::{Figure, median, percentile};
use crate::process::own_cpu_seconds;
use crate::queue::Queue;
use crate::server::Server;

/// Jobs that a worker takes at once, and workers.
const BATCH: i64 = 100;
const WORKERS: usize = 2;
const JOBS: usize = 40_000;
const ROUNDS: usize = 5;
/// What a no-op job leaves behind, about as long as ours.
const RESULT: &str = concat!(
    r#"{"id": "01a1fd99-adf8-76d5-888b-6b497373c320", "status": "completed", "skill": "shell", "#,
    r#""model": "script/bash", "attempt": 1, "created_at": "2026-11-21T10:14:29.710995Z", "#,
    r#""started_at": "2026-11-21T10:14:29.710995Z", "finished_at": "2026-11-21T10:14:29.710995Z", "#,
    r#""text": null, "outputs": [], "stop_reason": null, "error": null, "#,
    r#""usage": {"input_tokens": 0, "output_tokens": 0, "iterations": 0, "tool_calls": 0}}"#,
);
/// Of the limit.
const SHARE: f64 = 0.5;

/// What a round came to.
struct Pace {
    per_second: f64,
    /// Microseconds of processor a job, of the workers and of Postgres.
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
    let (mut ours, mut limits) = (Vec::new(), Vec::new());
    // In turns, so that both meet the same noise.
    for _ in 0..bench.scale.rounds(ROUNDS) {
        queue.fill(jobs).await?;
        prepare_limit(&pool).await?;
        // Dead rows of before are none of this round's work.
        sqlx::query("vacuum analyze").execute(&pool).await?;
        sqlx::query("checkpoint").execute(&pool).await?;
        limits.push(timed(&bench.server, jobs, work_at_limit(&pool)).await?);
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
    let shares: Vec<_> = ours
        .iter()
        .zip(&limits)
        .map(|(ours, limit)| ours.per_second / limit.per_second)
        .collect();
    let share = median(&shares);
    Ok(vec![
        Figure::new("limit: claim 100, delete 100 and keep 100", limit, "jobs/s"),
        Figure::new("queue core", of(&ours, |pace| pace.per_second), "jobs/s")
            .at_least(limit * SHARE)
            .beside(limit),
        Figure::new("queue core, part of the limit", share, "").at_least(SHARE),
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

/// Runs the statements that end this many jobs.
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

/// Workers that claim and finish until there is nothing left.
pub(crate) async fn work(queue: &Queue) -> anyhow::Result<()> {
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let queue = queue.clone();
        workers.spawn(async move {
            // As in a worker, the log is written by a task of its own, through a connection of its own.
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

/// The least that two workers have to do for the same jobs.
async fn work_at_limit(pool: &Pool) -> anyhow::Result<()> {
    let mut workers = JoinSet::new();
    for _ in 0..WORKERS {
        let mut connection = pool.acquire().await?;
        workers.spawn(async move {
            loop {
                let claimed: Vec<Uuid> = sqlx::query_scalar(
                    "with head as materialized (
                         select job_id from limit_run
                         where state = 'ready'
                         order by rank
                         limit $1
                         for update skip locked
                     )
                     update limit_run set state = 'running', worker_id = $2
                     from head
                     where limit_run.job_id = head.job_id
                     returning limit_run.job_id",
                )
                .bind(BATCH)
                .bind(Uuid::nil())
                .fetch_all(&mut connection)
                .await?;
                if claimed.is_empty() {
                    return anyhow::Ok(());
                }
                sqlx::query(
                    "with ended as (delete from limit_run where job_id = any($1) returning job_id)
                     insert into limit_result (job_id, seq, type, at, attempt, data)
                     select job_id, 2, 'job.completed', now(), 1, $2::json from ended",
                )
                .bind(&claimed)
                .bind(RESULT)
                .execute(&mut connection)
                .await?;
            }
        });
    }
    all(workers).await
}

/// Tables of the same shape with the same jobs in them, and no more indexes than the least.
async fn prepare_limit(pool: &Pool) -> anyhow::Result<()> {
    for statement in [
        "drop table if exists limit_run, limit_result",
        "create table limit_run (like run including defaults including storage) with (fillfactor = 60)",
        "create table limit_result (like job_event including defaults including storage)",
        "insert into limit_run select * from run",
        "alter table limit_run add primary key (job_id)",
        "alter table limit_result add primary key (job_id, seq)",
        "create index on limit_run (rank) where state = 'ready'",
    ] {
        sqlx::query(statement).execute(pool).await?;
    }
    Ok(())
}

async fn all(mut workers: JoinSet<anyhow::Result<()>>) -> anyhow::Result<()> {
    while let Some(ended) = workers.join_next().await {
        ended??;
    }
    Ok(())
}
