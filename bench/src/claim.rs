//! The number of pages that a claim reads. It must not grow with the queue, the tenants or earlier claims.
//!
//! The buffers of tables and indexes are counted with the statistics of Postgres, like `explain (analyze, buffers)`.
//! So this measures the claim that workers really run.

use std::time::Instant;

use shared::db::{self, Pool};
use sqlx::{Connection, PgConnection};

use crate::Bench;
use crate::figure::{Figure, median};
use crate::queue::Queue;

const SMALL: usize = 1_000;
const FEW_TENANTS: usize = 1_000;
const LARGE: usize = 1_000_000;
const TENANTS: usize = 10_000;
const DEQUEUED: usize = 60_000;
/// The number of claims, whose median counts, and the number of jobs per claim.
const CLAIMS: usize = 25;
const SLOTS: i64 = 10;
/// The maximum number of buffers, as a multiple of those with a small backlog.
const FACTOR: f64 = 2.0;

/// The cost of a claim.
pub(crate) struct Cost {
    pub(crate) buffers: f64,
    pub(crate) millis: f64,
}

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    // A single connection, so that its statistics can be flushed.
    let (url, pool) = bench.server.database("claim", 1).await?;
    let queue = Queue::open(pool.clone()).await?;
    queue.fill(SMALL).await?;
    settle(&url).await?;
    let small = cost(&queue).await?;

    // Claiming one job of each of ten tenants costs more than ten jobs of one tenant, however many tenants there are.
    // So this case has its own baseline.
    let (few_url, few) = bench.server.database("claim_few", 1).await?;
    let few = Queue::open(few).await?;
    enqueue_of_tenants(&few, FEW_TENANTS).await?;
    settle(&few_url).await?;
    let small_of_many = cost(&few).await?;

    enqueue_of_tenants(&queue, TENANTS).await?;
    multiply(&url, LARGE / TENANTS).await?;
    settle(&url).await?;
    let large = cost(&queue).await?;
    let held = after_dequeues_under_a_snapshot(bench).await?;

    let figure = |when: &str, cost: &Cost, target: Option<f64>| {
        let name = format!("buffers of a claim of {SLOTS}, {when}");
        let figure = Figure::new(name, cost.buffers, "");
        let time = Figure::new(
            format!("time of a claim of {SLOTS}, {when}"),
            cost.millis,
            "ms",
        );
        [target.into_iter().fold(figure, Figure::at_most), time]
    };
    let target = |base: &Cost| Some(base.buffers * FACTOR);
    Ok([
        figure("1 k jobs of a tenant", &small, None),
        figure("1 k jobs of 1 k tenants", &small_of_many, None),
        figure("1 M jobs of 10 k tenants", &large, target(&small_of_many)),
        figure("60 k dequeued under a held snapshot", &held, target(&small)),
    ]
    .concat())
}

/// Enqueues one job for each of this many tenants.
async fn enqueue_of_tenants(queue: &Queue, count: usize) -> anyhow::Result<()> {
    for number in 0..count {
        let tenant = db::tenant::get_or_insert(&queue.pool, &format!("tenant-{number}")).await?;
        queue.of_tenant(tenant.id).enqueue().await?;
    }
    Ok(())
}

/// Measures the same small backlog after many jobs were dequeued while an old snapshot could still see them.
async fn after_dequeues_under_a_snapshot(bench: &Bench) -> anyhow::Result<Cost> {
    let (url, pool) = bench.server.database("claim_held", 1).await?;
    let queue = Queue::open(pool.clone()).await?;
    queue.fill(DEQUEUED + SMALL).await?;
    settle(&url).await?;
    let mut other = PgConnection::connect(&url).await?;
    let mut reader = other
        .begin_with("begin isolation level repeatable read")
        .await?;
    sqlx::query("select from run limit 1")
        .execute(&mut *reader)
        .await?;
    for _ in 0..DEQUEUED / 100 {
        let claimed = queue.claim(&pool, 100).await?;
        queue.finish(&pool, claimed).await?;
    }
    let cost = cost(&queue).await?;
    reader.rollback().await?;
    Ok(cost)
}

/// Copies each existing job this many times, whatever its columns are.
async fn multiply(url: &str, factor: usize) -> anyhow::Result<()> {
    let factor = i32::try_from(factor)?;
    // The statement timeout of the pool is too short for this.
    let mut connection = PgConnection::connect(url).await?;
    sqlx::query(
        "create temporary table copy as
         select job_id as old, gen_random_uuid() as new, number
         from run, generate_series(2, $1) as number
         where state = 'ready'",
    )
    .bind(factor)
    .execute(&mut connection)
    .await?;
    for statement in [
        "insert into run
         select made.*
         from copy
         join run on run.job_id = copy.old,
         lateral jsonb_populate_record(run, jsonb_build_object('job_id', copy.new)) as made",
        "insert into job
         select made.*
         from copy
         join job on job.id = copy.old,
         lateral jsonb_populate_record(job, jsonb_build_object('id', copy.new)) as made",
    ] {
        sqlx::query(statement).execute(&mut connection).await?;
    }
    connection.close().await?;
    Ok(())
}

/// Leaves no work for autovacuum during the measurement, because its reads would count for the claim.
pub(crate) async fn settle(url: &str) -> anyhow::Result<()> {
    let mut connection = PgConnection::connect(url).await?;
    for statement in [
        "alter table run set (autovacuum_enabled = off)",
        "alter table job set (autovacuum_enabled = off)",
        "vacuum analyze",
        "checkpoint",
    ] {
        sqlx::query(statement).execute(&mut connection).await?;
    }
    connection.close().await?;
    Ok(())
}

/// Returns the median cost of many claims of ten jobs.
pub(crate) async fn cost(queue: &Queue) -> anyhow::Result<Cost> {
    let (mut buffers, mut millis) = (Vec::new(), Vec::new());
    for _ in 0..CLAIMS {
        let before = read_so_far(&queue.pool).await?;
        let begun_at = Instant::now();
        let claimed = queue.claim(&queue.pool, SLOTS).await?;
        millis.push(begun_at.elapsed().as_secs_f64() * 1e3);
        anyhow::ensure!(!claimed.is_empty(), "a claim returned no jobs");
        buffers.push((read_so_far(&queue.pool).await? - before) as f64);
    }
    Ok(Cost {
        buffers: median(&buffers),
        millis: median(&millis),
    })
}

/// Returns the number of buffers of all tables and indexes of this database that were read so far.
async fn read_so_far(pool: &Pool) -> anyhow::Result<i64> {
    sqlx::query("select pg_stat_force_next_flush()")
        .execute(pool)
        .await?;
    let sum = sqlx::query_scalar(
        "select sum(
             heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0)
             + coalesce(toast_blks_read + toast_blks_hit + tidx_blks_read + tidx_blks_hit, 0)
         )::bigint
         from pg_statio_user_tables",
    );
    Ok(sum.fetch_one(pool).await?)
}
