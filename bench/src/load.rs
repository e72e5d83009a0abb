//! Clients that submit jobs and wait for their end.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::{Value, json};
use shared::id::JobId;
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::scale::Scale;
use crate::service::Service;

/// A client of one service that sends one kind of job.
#[derive(Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    url: String,
    body: Value,
}

impl Client {
    /// Creates a client that sends jobs of the skill `shell` with this prompt to `script/bash`, a model without
    /// network and without delay. Everything else is real.
    pub(crate) fn of(service: &Service, prompt: &str) -> anyhow::Result<Self> {
        Self::with(
            service,
            json!({"skill": "shell", "model": "script/bash", "prompt": prompt}),
        )
    }

    /// Creates a client that sends this request.
    pub(crate) fn with(service: &Service, body: Value) -> anyhow::Result<Self> {
        Self::with_key(service, &service.key, body)
    }

    /// Creates a client that sends this request with this key.
    pub(crate) fn with_key(service: &Service, key: &str, body: Value) -> anyhow::Result<Self> {
        let mut headers = HeaderMap::new();
        let key = HeaderValue::from_str(&format!("Bearer {key}"))?;
        headers.insert("authorization", key);
        Ok(Self {
            http: reqwest::Client::builder()
                .default_headers(headers)
                .build()?,
            url: format!("{}/v1/jobs", service.url),
            body,
        })
    }

    /// Returns the same client for another API of the service.
    pub(crate) fn at(&self, url: &str) -> Self {
        Self {
            url: format!("{url}/v1/jobs"),
            ..self.clone()
        }
    }

    /// Sends a job and returns when it is accepted.
    pub(crate) async fn submit(&self) -> anyhow::Result<JobId> {
        let request = self.http.post(&self.url).json(&self.body);
        let job: Value = request.send().await?.error_for_status()?.json().await?;
        Ok(job["id"].as_str().context("the job has no id")?.parse()?)
    }

    /// Sends `count` jobs in one request.
    pub(crate) async fn submit_batch(&self, count: usize) -> anyhow::Result<()> {
        let request = self.http.post(format!("{}/batch", self.url));
        let body = json!({"jobs": vec![&self.body; count]});
        request.json(&body).send().await?.error_for_status()?;
        Ok(())
    }

    /// Sends a job and returns it when it has completed.
    pub(crate) async fn run(&self) -> anyhow::Result<Value> {
        let request = self.http.post(&self.url).header("Prefer", "wait=30");
        let job: Value = request.json(&self.body).send().await?.json().await?;
        ensure!(
            job["status"] == "completed" && job["stop_reason"] == "end_turn",
            "a job did not complete: {job}"
        );
        Ok(job)
    }

    /// Runs `count` jobs one after the other, and returns the duration of each in milliseconds.
    pub(crate) async fn run_in_turn(&self, count: usize) -> anyhow::Result<Vec<f64>> {
        let mut millis = Vec::with_capacity(count);
        for _ in 0..count {
            let begun_at = Instant::now();
            self.run().await?;
            millis.push(begun_at.elapsed().as_secs_f64() * 1e3);
        }
        Ok(millis)
    }

    /// Returns the number of jobs completed by this many clients. Each submits a job when its last one has ended.
    pub(crate) async fn run_at_once(&self, clients: usize, run: Duration) -> anyhow::Result<usize> {
        let begun_at = Instant::now();
        let mut running = JoinSet::new();
        for _ in 0..clients {
            let client = self.clone();
            running.spawn(async move {
                let mut count = 0;
                while begun_at.elapsed() < run {
                    client.run().await?;
                    count += 1;
                }
                anyhow::Ok(count)
            });
        }
        let mut total = 0;
        while let Some(count) = running.join_next().await {
            total += count??;
        }
        Ok(total)
    }
}

/// The pace at which jobs are submitted, whether or not earlier jobs have ended.
pub(crate) struct Pacing {
    jobs: usize,
    pause: Duration,
}

impl Pacing {
    /// Slow enough that no other job is in progress.
    pub(crate) fn idle(scale: &Scale) -> Self {
        Self {
            jobs: scale.count(300),
            pause: Duration::from_millis(20),
        }
    }

    /// 300 jobs per second.
    pub(crate) fn steady(scale: &Scale) -> Self {
        Self {
            jobs: scale.count(1500),
            pause: Duration::from_secs(1) / 300,
        }
    }
}

/// Repeats an operation at a pace, and returns the results with their times.
pub(crate) async fn paced<T: Send + 'static, F>(
    pacing: Pacing,
    once: impl Fn() -> F,
) -> anyhow::Result<Vec<(T, Instant)>>
where
    F: Future<Output = anyhow::Result<(T, Instant)>> + Send + 'static,
{
    let mut ticks = interval(pacing.pause);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut under_way = JoinSet::new();
    for _ in 0..pacing.jobs {
        ticks.tick().await;
        under_way.spawn(once());
    }
    let mut all = Vec::with_capacity(pacing.jobs);
    while let Some(done) = under_way.join_next().await {
        all.push(done??);
    }
    Ok(all)
}
