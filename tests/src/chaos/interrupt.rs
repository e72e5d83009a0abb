//! The latency of a takeover when a worker is killed or drains.

use std::time::Duration;

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::client::send_until_answered;
use super::deployment::Deployment;
use super::fault::Fault;
use super::{ChaosService, Setup};
use crate::model_server::Reply;

const TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// A way to interrupt a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The worker is killed while its model is streaming.
    Kill,
    /// The worker receives SIGTERM while its model is streaming.
    DrainInReply,
    /// The worker receives SIGTERM while a command of one second is running.
    DrainInCommand,
}

/// Interrupts `count` jobs, one after the other, and returns the latency of each. It is the time from the kill until
/// another worker has started, or from SIGTERM until the job is handed back.
pub async fn interrupt(
    setup: Setup,
    interruption: Interruption,
    count: usize,
) -> anyhow::Result<Vec<Duration>> {
    let mut service = ChaosService::start(setup, Deployment::default()).await?;
    service.start_worker(0);
    service.until_workers(1).await?;
    let mut times = Vec::new();
    for number in 0..count {
        // At its start the job gets the only worker.
        let (old, new) = (number % 2, (number + 1) % 2);
        let marker = format!("interrupted-{number}");
        let job = begin(&service, interruption, &marker).await?;
        service.start_worker(new);
        service.until_workers(2).await?;
        let begun_at = Utc::now();
        let (fault, kind, place) = match interruption {
            Interruption::Kill => (Fault::Kill(old), "job.started", 1),
            _ => (Fault::Drain(old), "job.retrying", 0),
        };
        service.inflict(fault).await?;
        let events = until(&service, &job, kind, place + 1).await?;
        let at: DateTime<Utc> = events[place]["at"].as_str().unwrap_or_default().parse()?;
        times.push((at - begun_at).to_std().unwrap_or_default());
        service.model.release(&marker);
        until(&service, &job, "job.completed", 1).await?;
        service.await_drained().await?;
        let faults = service.take_faults();
        ensure!(faults.is_empty(), "{faults:?}");
    }
    Ok(times)
}

/// Starts a job and returns its id when the work to be interrupted has begun.
async fn begin(
    service: &ChaosService,
    interruption: Interruption,
    marker: &str,
) -> anyhow::Result<String> {
    let is_first = std::sync::atomic::AtomicBool::new(true);
    service.model.script_with(marker, move |request| {
        let is_first = is_first.swap(false, std::sync::atomic::Ordering::Relaxed);
        match interruption {
            Interruption::DrainInCommand if request.turn() == 0 => {
                Reply::call("shell.exec", json!({"command": "echo begun; sleep 1"}))
            }
            Interruption::Kill | Interruption::DrainInReply if is_first => Reply::stall(),
            _ => Reply::text("Done."),
        }
    });
    let body = json!({
        "skill": "shell", "model": "anthropic/claude-test", "prompt": format!("Go. #{marker}"),
    });
    let request = service
        .access(0)
        .request(0, Method::POST, "/v1/jobs")
        .json(&body);
    let (_, job) = send_until_answered(&request).await;
    let id = job["id"].as_str().context("a job has an id")?.to_owned();
    let kind = match interruption {
        Interruption::DrainInCommand => "tool.output",
        _ => "message.delta",
    };
    until(service, &id, kind, 1).await?;
    Ok(id)
}

/// Waits until the job has `count` events of a type, and returns them.
async fn until(
    service: &ChaosService,
    id: &str,
    kind: &str,
    count: usize,
) -> anyhow::Result<Vec<Value>> {
    let begun_at = Instant::now();
    let path = format!("/v1/jobs/{id}/events?types={kind}&limit=1000");
    loop {
        let (_, page) =
            send_until_answered(&service.access(0).request(0, Method::GET, &path)).await;
        let events = page["data"].as_array().context("a page of events")?;
        if events.len() >= count {
            return Ok(events.clone());
        }
        ensure!(
            begun_at.elapsed() < TIMEOUT,
            "there are not {count} of {kind} in {id}"
        );
        sleep(PAUSE).await;
    }
}
