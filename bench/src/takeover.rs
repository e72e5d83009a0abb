//! How long a job stands still whose worker was killed: from SIGKILL to the next attempt's start.

use std::time::{Duration, Instant};

use anyhow::Context;
use shared::id::JobId;
use sqlx::PgPool;
use tokio::time::{sleep, timeout};

use crate::Bench;
use crate::figure::{Figure, percentile};
use crate::load::Client;
use crate::service::Service;

/// Jobs that the killed worker has, and how often one is killed.
const JOBS: usize = 8;
const KILLS: usize = 8;
/// Longer than all that is measured.
const COMMAND: &str = "```bash\nsleep 600\n```";
const LOOK: Duration = Duration::from_millis(5);
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn measure(bench: &Bench) -> anyhow::Result<Vec<Figure>> {
    let mut service = Service::with_worker(&bench.server, "takeover").await?;
    let client = Client::of(&service, COMMAND)?;
    let mut sample = Vec::new();
    for _ in 0..bench.scale.count(KILLS) {
        let mut jobs = Vec::new();
        for _ in 0..JOBS {
            jobs.push(client.submit().await?);
        }
        when_begun(&service.pool, &jobs, 1).await?;
        service.add_worker(&[]).await?;
        let mut killed = service.workers.remove(0);
        let killed_at = Instant::now();
        killed.kill()?;
        let begun = when_begun(&service.pool, &jobs, 2).await?;
        sample.extend(
            begun
                .iter()
                .map(|at| at.duration_since(killed_at).as_secs_f64()),
        );
        for job in jobs {
            client.cancel(job).await?;
        }
    }
    let figure = |percent| {
        let name = format!("SIGKILL of a worker → its jobs run again, p{percent}");
        Figure::new(name, percentile(&sample, percent), "s")
    };
    Ok(vec![figure(50), figure(99).at_most(6.0)])
}

/// Waits until that attempt at each of the jobs has begun, and says when each did.
async fn when_begun(pool: &PgPool, jobs: &[JobId], attempt: i32) -> anyhow::Result<Vec<Instant>> {
    let ids: Vec<_> = jobs.iter().map(|job| job.0).collect();
    let mut begun = Vec::new();
    let looking = async {
        while begun.len() < jobs.len() {
            let count: i64 = sqlx::query_scalar(
                "select count(*) from job_event
                 where job_id = any($1) and type = 'job.started' and attempt = $2",
            )
            .bind(&ids)
            .bind(attempt)
            .fetch_one(pool)
            .await?;
            begun.resize(count.unsigned_abs() as usize, Instant::now());
            sleep(LOOK).await;
        }
        anyhow::Ok(())
    };
    timeout(PATIENCE, looking)
        .await
        .context("not all jobs were taken up")??;
    Ok(begun)
}
