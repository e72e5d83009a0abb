//! Schedules that are all due at once: none is missed, and none starts two jobs.

use std::time::{Duration, Instant};

use anyhow::ensure;
use reqwest::Method;
use serde_json::json;
use tokio::time::sleep;

use crate::Bench;
use crate::figure::Figure;
use crate::service::Service;

/// The number of due times, each of a separate schedule.
const TICKS: i64 = 10_000;
const WORKERS: usize = 3;
const TIMEOUT: Duration = Duration::from_secs(300);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut service = Service::start(&bench.server, "ticks").await?;
    // The jobs stay queued, because only their creation is measured.
    service.set_paused(true).await?;
    create_schedules(&service).await?;
    for _ in 0..WORKERS {
        service.add_worker(&[]).await?;
    }
    service.settle().await?;
    let pass = "update schedule set next_at = next_at - interval '1 hour', created_at = created_at - interval '1 hour'";
    sqlx::query(pass).execute(&service.pool).await?;
    let begun_at = Instant::now();
    while count(
        &service,
        "select count(*) from schedule_run where status = 'started'",
    )
    .await?
        < TICKS
    {
        ensure!(
            begun_at.elapsed() < TIMEOUT,
            "not every due time has started a job"
        );
        sleep(Duration::from_millis(20)).await;
    }
    let rate = TICKS as f64 / begun_at.elapsed().as_secs_f64();
    let missed = "select $1 - count(distinct schedule_id) from schedule_run";
    let missed: i64 = sqlx::query_scalar(missed)
        .bind(TICKS)
        .fetch_one(&service.pool)
        .await?;
    let doubled = count(
        &service,
        "select count(*) - count(distinct schedule_id) from job",
    )
    .await?;
    let name = format!("times of {TICKS} schedules that come at once, {WORKERS} workers");
    Ok(vec![
        Figure::new(name.clone(), rate, "jobs/s"),
        Figure::new(format!("{name}: missed"), missed as f64, "").at_most(0.0),
        Figure::new(format!("{name}: with two jobs"), doubled as f64, "").at_most(0.0),
    ])
}

/// Creates one schedule through the API, and copies of it.
async fn create_schedules(service: &Service) -> anyhow::Result<()> {
    let schedule = json!({
        "name": "first",
        "interval_seconds": 3600,
        "job": {"skill": "shell", "model": "script/bash", "prompt": "Nothing to do."},
    });
    let url = format!("{}/v1/schedules", service.url);
    let request = reqwest::Client::new().request(Method::POST, url);
    let answer = request
        .bearer_auth(&service.key)
        .json(&schedule)
        .send()
        .await?;
    answer.error_for_status()?;
    let copies = "insert into schedule
                  select gen_random_uuid(), tenant_id, 'n' || n, cron, time_zone, interval_seconds, job, paused, overlap,
                      catch_up, catch_up_limit, jitter_seconds, starts_at, ends_at, next_at, created_at, version,
                      updated_at
                  from schedule, generate_series(2, $1) as n";
    sqlx::query(copies)
        .bind(TICKS)
        .execute(&service.pool)
        .await?;
    Ok(())
}

async fn count(service: &Service, query: &'static str) -> anyhow::Result<i64> {
    Ok(sqlx::query_scalar(query).fetch_one(&service.pool).await?)
}
