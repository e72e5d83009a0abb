//! Clients that send jobs and wait for their end.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::service::Service;

#[derive(Clone)]
struct Client {
    http: reqwest::Client,
    url: String,
    key: String,
    body: Value,
}

impl Client {
    fn of(service: &Service, prompt: &str) -> Self {
        Self {
            http: reqwest::Client::new(),
            url: format!("{}/v1/jobs", service.url),
            key: service.key.clone(),
            body: json!({"skill": "shell", "model": "script/bash", "prompt": prompt}),
        }
    }

    /// Sends a job and returns when it has completed.
    async fn run(&self) -> anyhow::Result<()> {
        let request = self
            .http
            .post(&self.url)
            .bearer_auth(&self.key)
            .header("Prefer", "wait=30");
        let job: Value = request.json(&self.body).send().await?.json().await?;
        ensure!(
            job["status"] == "completed",
            "a job did not complete: {job}"
        );
        Ok(())
    }
}

/// How long each of `count` jobs takes that follow one another, in milliseconds.
pub(crate) async fn one_by_one(
    service: &Service,
    prompt: &str,
    count: usize,
) -> anyhow::Result<Vec<f64>> {
    let client = Client::of(service, prompt);
    let mut millis = Vec::with_capacity(count);
    for _ in 0..count {
        let begun_at = Instant::now();
        client.run().await?;
        millis.push(begun_at.elapsed().as_secs_f64() * 1000.0);
    }
    Ok(millis)
}

/// Sends jobs at a rate, whether or not those before have ended.
pub(crate) async fn at_rate(
    service: &Service,
    prompt: &str,
    per_second: u32,
    run: Duration,
) -> anyhow::Result<()> {
    let client = Client::of(service, prompt);
    let mut ticks = interval(Duration::from_secs(1) / per_second);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut jobs = JoinSet::new();
    let begun_at = Instant::now();
    while begun_at.elapsed() < run {
        ticks.tick().await;
        let client = client.clone();
        jobs.spawn(async move { client.run().await });
    }
    while let Some(ended) = jobs.join_next().await {
        ended??;
    }
    Ok(())
}

/// Jobs a second with so many clients, each of which sends the next when the one before has ended.
pub(crate) async fn closed_loop(
    service: &Service,
    prompt: &str,
    clients: usize,
    run: Duration,
) -> anyhow::Result<f64> {
    let client = Client::of(service, prompt);
    let begun_at = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..clients {
        let client = client.clone();
        running.spawn(async move {
            let mut count = 0_u32;
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
    Ok(f64::from(total) / begun_at.elapsed().as_secs_f64())
}
