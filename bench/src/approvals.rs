//! Cost of many jobs that wait for approval: claims beside them, and the time until an approved job continues.

use std::time::Duration;

use anyhow::ensure;
use futures_util::{StreamExt, TryStreamExt, stream};
use serde_json::{Value, json};
use shared::id::ApprovalId;
use sqlx::{Connection, PgConnection};
use tokio::time::sleep;

use crate::Bench;
use crate::claim::{cost, settle};
use crate::figure::{Figure, rounded, times};
use crate::load::Client;
use crate::queue::Queue;
use crate::service::Service;

const WAITING: usize = 100_000;
/// Ready jobs in the same queue.
const READY: usize = 1000;
/// Jobs that are approved, one after the other.
const ANSWERED: usize = 200;
const PAUSE: Duration = Duration::from_millis(20);
/// The maximum number of buffers, as a multiple of those of a claim without waiting jobs.
const FACTOR: f64 = 2.0;
/// Targets in milliseconds, from an answer to the next attempt.
const STARTS: (f64, f64) = (10.0, 50.0);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let (waiting, answered) = (bench.scale.count(WAITING), bench.scale.count(ANSWERED));
    let mut figures = claims(bench, waiting).await?;
    let mut service = Service::start(&bench.server, "approvals").await?;
    service.add_worker(&[]).await?;
    service.settle().await?;
    let body = json!({
        "agent": "default", "model": "script/bash", "prompt": "```bash\ntrue\n```",
        "hooks": {"confirm": ["shell.*"]},
    });
    let client = Client::with(&service, body)?;
    let submitted = stream::iter(0..answered).map(|_| client.submit());
    let jobs: Vec<_> = submitted.buffer_unordered(16).try_collect().await?;
    let waits = "select count(*) from run where state = 'waiting'";
    service.until(waits, jobs.len()).await?;
    multiply(&service, waiting).await?;
    let approvals: Vec<uuid::Uuid> =
        sqlx::query_scalar("select id from approval where job_id = any($1)")
            .bind(&jobs)
            .fetch_all(&service.pool)
            .await?;
    ensure!(
        approvals.len() == jobs.len(),
        "not every job has one approval"
    );
    let http = reqwest::Client::new();
    for approval in approvals.into_iter().map(ApprovalId) {
        let request = http.post(format!("{}/v1/approvals/{approval}", service.url));
        let request = request.bearer_auth(&service.key);
        let answer = request.json(&json!({"decision": "approve"})).send().await?;
        let _: Value = answer.error_for_status()?.json().await?;
        sleep(PAUSE).await;
    }
    let completed = "select count(*) from job_end where outcome = 'completed'";
    service.until(completed, jobs.len()).await?;
    // By the clock of the database, from the answer to the attempt that continues.
    let sample: Vec<f64> = sqlx::query_scalar(
        "select (extract(epoch from started.at - resumed.at) * 1000)::double precision
         from job_event as resumed
         join job_event as started on started.job_id = resumed.job_id and started.type = 'job.started'
         where resumed.type = 'job.resumed' and started.seq > resumed.seq and resumed.job_id = any($1)",
    )
    .bind(&jobs)
    .fetch_all(&service.pool)
    .await?;
    ensure!(
        sample.len() == jobs.len(),
        "not every job was started again"
    );
    let others = rounded(waiting as f64);
    let name = format!("answer → job.started, {others} others wait");
    figures.extend(times(&name, &sample, Some(STARTS)));
    Ok(figures)
}

/// Measures the buffers of a claim, without waiting jobs and with very many.
async fn claims(bench: &Bench, waiting: usize) -> anyhow::Result<Vec<Figure>> {
    // A single connection, so that its statistics can be flushed.
    let (url, pool) = bench.server.database("approvals_claim", 1).await?;
    let queue = Queue::open(pool).await?;
    queue.fill(READY).await?;
    settle(&url).await?;
    let without = cost(&queue).await?;
    sqlx::query(
        "insert into run (job_id, tenant_id, skill, state, rank, run_at, last_seq, needs_network)
         select gen_random_uuid(), tenant_id, skill, 'waiting', rank, run_at, 5, needs_network
         from (select * from run limit 1) as run, generate_series(1, $1)",
    )
    .bind(waiting as i64)
    .execute(&queue.pool)
    .await?;
    settle(&url).await?;
    let beside = cost(&queue).await?;
    let name = |when: &str| format!("buffers of a claim of 10, {when}");
    Ok(vec![
        Figure::new(name("no job waits for a person"), without.buffers, ""),
        Figure::new(
            name(&format!(
                "{} jobs wait for a person",
                rounded(waiting as f64)
            )),
            beside.buffers,
            "",
        )
        .at_most(without.buffers * FACTOR),
    ])
}

/// Copies a waiting job and its approval this many times.
async fn multiply(service: &Service, count: usize) -> anyhow::Result<()> {
    // The statement timeout of the pool is too short for this.
    let mut connection = PgConnection::connect(service.database_url()).await?;
    for statement in [
        "create temporary table copy as
         select job_id as old, gen_random_uuid() as new
         from (select job_id from run where state = 'waiting' limit 1) as run, generate_series(1, $1)",
        "insert into run
         select made.* from copy join run on run.job_id = copy.old,
         lateral jsonb_populate_record(run, jsonb_build_object('job_id', copy.new)) as made where $1 > 0",
        "insert into job
         select made.* from copy join job on job.id = copy.old,
         lateral jsonb_populate_record(job, jsonb_build_object('id', copy.new)) as made where $1 > 0",
        "insert into approval
         select made.* from copy join approval on approval.job_id = copy.old,
         lateral jsonb_populate_record(approval, jsonb_build_object('id', copy.new, 'job_id', copy.new)) as made
         where $1 > 0",
    ] {
        sqlx::query(statement)
            .bind(i32::try_from(count)?)
            .execute(&mut connection)
            .await?;
    }
    sqlx::query("analyze").execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}
