//! Throughput of accepting jobs, one by one and in thousands.
//!
//! The limit is one inserted row per job, in a table of the shape of `job`. Skillet inserts that row, the run and the
//! first event of the log. The minimum with a log is these three rows with Skillet's indexes, and nothing else.

use shared::db::Pool;
use std::time::{Duration, Instant};

use chrono::Utc;
use sqlx::AssertSqlSafe;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::Bench;
use crate::figure::{Figure, median};
use crate::queue::{Queue, THOUSAND};

const CLIENTS: u32 = 8;
const BULK_CLIENTS: u32 = 4;
const ROUNDS: usize = 3;
const RUN: Duration = Duration::from_secs(2);
const REQUEST: &str = r#"{"prompt": "Nothing to do.", "inputs": [], "parameters": {}, "max_attempts": 3, "priority": 0}"#;
const QUEUED: &str =
    r#"{"digest": "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c"}"#;

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let (_, pool) = bench.server.database("enqueue", CLIENTS).await?;
    let queue = Queue::open(pool.clone()).await?;
    for table in ["job", "run", "job_event"] {
        let made = format!("create table limit_{table} (like {table} including all)");
        sqlx::query(AssertSqlSafe(made)).execute(&pool).await?;
    }
    let run = bench.scale.lasting(RUN);
    let (mut single, mut single_limit) = (Vec::new(), Vec::new());
    let (mut bulk, mut bulk_limit, mut bulk_logged) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..bench.scale.rounds(ROUNDS) {
        single_limit.push(per_second(CLIENTS, run, &pool, insert_row).await?);
        single.push(per_second(CLIENTS, run, &queue, enqueue).await?);
        bulk_limit.push(per_second(BULK_CLIENTS, run, &pool, insert_rows).await?);
        bulk_logged.push(per_second(BULK_CLIENTS, run, &pool, insert_logged_rows).await?);
        bulk.push(per_second(BULK_CLIENTS, run, &queue, enqueue_thousand).await?);
        sqlx::query("truncate job, run, job_event, job_delta, limit_job, limit_run, limit_job_event cascade")
            .execute(&pool)
            .await?;
        sqlx::query("checkpoint").execute(&pool).await?;
    }
    let bulk = median(&bulk) * THOUSAND as f64;
    let bulk_limit = median(&bulk_limit) * THOUSAND as f64;
    let bulk_logged = median(&bulk_logged) * THOUSAND as f64;
    Ok(vec![
        Figure::new("enqueue one by one, 8 clients", median(&single), "jobs/s")
            .at_least(5_000.0)
            .beside(median(&single_limit)),
        Figure::new("enqueue in thousands, 4 clients", bulk, "jobs/s")
            .at_least(100_000.0)
            .beside(bulk_limit),
        Figure::new(
            "the least with a log: job, run and first event, in thousands",
            bulk_logged,
            "jobs/s",
        ),
        Figure::new(
            "enqueue in thousands, part of the least with a log",
            bulk / bulk_logged,
            "",
        ),
    ])
}

async fn enqueue(queue: Queue) -> anyhow::Result<()> {
    queue.enqueue().await?;
    Ok(())
}

async fn enqueue_thousand(queue: Queue) -> anyhow::Result<()> {
    Ok(queue.enqueue_thousand().await?)
}

async fn insert_row(pool: Pool) -> anyhow::Result<()> {
    insert(&pool, &[Uuid::now_v7()]).await
}

async fn insert_rows(pool: Pool) -> anyhow::Result<()> {
    let ids: Vec<_> = (0..THOUSAND).map(|_| Uuid::now_v7()).collect();
    insert(&pool, &ids).await
}

async fn insert_logged_rows(pool: Pool) -> anyhow::Result<()> {
    let ids: Vec<_> = (0..THOUSAND).map(|_| Uuid::now_v7()).collect();
    sqlx::query(
        "with new as (select id from unnest($1) as new (id)),
         run as (
             insert into limit_run (job_id, tenant_id, skill, state, rank, run_at, last_seq)
             select id, $2, 'shell', 'ready', $4, $4, 1 from new
         ),
         entry as (
             insert into limit_job_event (job_id, seq, type, at, attempt, data)
             select id, 1, 'job.queued', $4, 0, $5::json from new
         )
         insert into limit_job (id, tenant_id, skill, model, request, metadata, created_at)
         select id, $2, 'shell', 'script/bash', $3::json, '{}', $4 from new",
    )
    .bind(&ids)
    .bind(Uuid::nil())
    .bind(REQUEST)
    .bind(Utc::now())
    .bind(QUEUED)
    .execute(&pool)
    .await?;
    Ok(())
}

async fn insert(pool: &Pool, ids: &[Uuid]) -> anyhow::Result<()> {
    sqlx::query(
        "insert into limit_job (id, tenant_id, skill, model, request, metadata, created_at)
         select id, $2, 'shell', 'script/bash', $3::json, '{}', $4 from unnest($1) as new (id)",
    )
    .bind(ids)
    .bind(Uuid::nil())
    .bind(REQUEST)
    .bind(Utc::now())
    .execute(pool)
    .await?;
    Ok(())
}

/// Returns the rate per second with this many clients.
async fn per_second<T, F>(
    clients: u32,
    run: Duration,
    place: &T,
    once: fn(T) -> F,
) -> anyhow::Result<f64>
where
    T: Clone + Send + 'static,
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let begun_at = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..clients {
        let place = place.clone();
        running.spawn(async move {
            let mut count = 0_u32;
            while begun_at.elapsed() < run {
                once(place.clone()).await?;
                count += 1;
            }
            anyhow::Ok(count)
        });
    }
    let mut total = 0;
    while let Some(count) = running.join_next().await {
        total += count??;
    }
    Ok(f64::from(total) / begun_at.elapsed().as_secs_f64())
}
