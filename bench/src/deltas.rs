//! Live output: rows and bytes of a job with a follower, of a job without one, and after trimming.

use std::time::Duration;

use anyhow::Context;
use chrono::{TimeDelta, Utc};
use futures_util::{StreamExt, TryStreamExt, stream};
use shared::db;
use shared::id::JobId;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::Bench;
use crate::figure::Figure;
use crate::load::Client;
use crate::service::Service;

const JOBS: usize = 8;
/// The number of lines that each job prints, and the pause after each line, as fast as a model writes.
const LINES: usize = 400;
const PAUSE_SECONDS: f64 = 0.01;
const TIMEOUT: Duration = Duration::from_secs(120);
/// The maximum number of rows of live output per second: one every 50 ms, and a few at the ends of a command.
const MAX_ROWS: f64 = 22.0;

/// The space that a job takes in the tables of the log.
struct Taken {
    rows: f64,
    delta_rows: f64,
    bytes: f64,
    delta_bytes: f64,
    /// The time from the first to the last row of live output.
    seconds: f64,
}

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let service = Service::with_worker(&bench.server, "deltas").await?;
    let followed = taken(&service, true).await?;
    service.forget_jobs().await?;
    let unfollowed = taken(&service, false).await?;
    // As if more than a day had passed.
    sqlx::query("update job_delta set at = at - interval '3 days'")
        .execute(&service.pool)
        .await?;
    let cutoff = Utc::now() - TimeDelta::days(1);
    db::delta_day::trim(&service.pool, cutoff).await?;
    while db::delta_day::delete_stray(&service.pool, cutoff, 1000).await? > 0 {}
    let trimmed = read(&service).await?;
    let figure = |what: &str, value: f64, unit: &str| {
        Figure::new(
            format!("log of a job that prints {LINES} lines, {what}"),
            value,
            unit,
        )
    };
    Ok(vec![
        figure("followed: rows of live output", followed.delta_rows, "rows"),
        figure("followed: all", followed.bytes / 1024.0, "KiB"),
        figure(
            "unfollowed: rows of live output",
            unfollowed.delta_rows,
            "rows",
        )
        .beside(followed.delta_rows),
        figure("unfollowed: all", unfollowed.bytes / 1024.0, "KiB").beside(followed.bytes / 1024.0),
        figure(
            "unfollowed: rows of live output a second",
            unfollowed.delta_rows / unfollowed.seconds,
            "rows/s",
        )
        .at_most(MAX_ROWS),
        figure(
            "unfollowed: part of the bytes that is live output",
            unfollowed.delta_bytes / unfollowed.bytes,
            "",
        ),
        figure("trimmed: rows", trimmed.rows, "rows").beside(unfollowed.rows),
        figure("trimmed: all", trimmed.bytes / 1024.0, "KiB").beside(unfollowed.bytes / 1024.0),
    ])
}

async fn taken(service: &Service, is_followed: bool) -> anyhow::Result<Taken> {
    let prompt = format!(
        "```bash\nfor n in $(seq {LINES}); do echo the line number $n of this output; sleep {PAUSE_SECONDS}; done\n```"
    );
    let client = Client::of(service, &prompt)?;
    let submitted = stream::iter(0..JOBS).map(|_| client.submit());
    let jobs: Vec<JobId> = submitted.buffer_unordered(JOBS).try_collect().await?;
    let mut followers = JoinSet::new();
    if is_followed {
        for job in &jobs {
            followers.spawn(follow(service.url.clone(), service.key.clone(), *job));
        }
    }
    let all_end = async {
        while count_ended(service).await? < JOBS as i64 {
            sleep(Duration::from_millis(50)).await;
        }
        anyhow::Ok(())
    };
    timeout(TIMEOUT, all_end)
        .await
        .context("the jobs did not end")??;
    followers.shutdown().await;
    read(service).await
}

async fn follow(url: String, key: String, job: JobId) -> anyhow::Result<()> {
    let request = reqwest::Client::new().get(format!("{url}/v1/jobs/{job}/stream"));
    let mut answer = request.bearer_auth(key).send().await?.error_for_status()?;
    while answer.chunk().await?.is_some() {}
    Ok(())
}

async fn count_ended(service: &Service) -> anyhow::Result<i64> {
    let count = sqlx::query_scalar("select count(*) from job_end where outcome = 'completed'");
    Ok(count.fetch_one(&service.pool).await?)
}

/// Returns the mean of all jobs.
async fn read(service: &Service) -> anyhow::Result<Taken> {
    let (rows, bytes): (i64, i64) = sqlx::query_as(
        "select count(*), coalesce(sum(pg_column_size(job_event.*)), 0) from job_event",
    )
    .fetch_one(&service.pool)
    .await?;
    let (delta_rows, delta_bytes, seconds): (i64, i64, f64) = sqlx::query_as(
        "select count(*), coalesce(sum(pg_column_size(job_delta.*)), 0),
             coalesce(extract(epoch from max(at) - min(at)), 0)::double precision
         from job_delta",
    )
    .fetch_one(&service.pool)
    .await?;
    let mean = |sum: i64| sum as f64 / JOBS as f64;
    Ok(Taken {
        rows: mean(rows + delta_rows),
        delta_rows: mean(delta_rows),
        bytes: mean(bytes + delta_bytes),
        delta_bytes: mean(delta_bytes),
        seconds,
    })
}
