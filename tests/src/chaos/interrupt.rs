//! The latency of a takeover when a worker is lost or drains.

use std::time::Duration;

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::client::send_surely;
use super::deployment::Deployment;
use super::fault::Fault;
use super::{Setup, World};
use crate::model_server::Reply;

const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(5);

/// What happens to the worker, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// It is killed while its model is streaming.
    Kill,
    /// It is told to leave while its model is streaming.
    DrainInReply,
    /// It is told to leave while a command of a second is running.
    DrainInCommand,
}

/// Interrupts so many jobs, one after the other, and returns how long each took: from the kill until another worker
/// has begun, or from the signal until the job is handed back.
pub async fn interrupt(
    setup: Setup,
    interruption: Interruption,
    count: usize,
) -> anyhow::Result<Vec<Duration>> {
    let mut world = World::start(setup, Deployment::default()).await?;
    world.start_worker(0);
    world.until_workers(1).await?;
    let mut times = Vec::new();
    for number in 0..count {
        // The one that has the job is the only one when it begins.
        let (old, new) = (number % 2, (number + 1) % 2);
        let marker = format!("interrupted-{number}");
        let job = begin(&world, interruption, &marker).await?;
        world.start_worker(new);
        world.until_workers(2).await?;
        let begun_at = Utc::now();
        let (fault, kind, place) = match interruption {
            Interruption::Kill => (Fault::Kill(old), "job.started", 1),
            _ => (Fault::Drain(old), "job.retrying", 0),
        };
        world.inflict(fault).await?;
        let events = until(&world, &job, kind, place + 1).await?;
        let at: DateTime<Utc> = events[place]["at"].as_str().unwrap_or_default().parse()?;
        times.push((at - begun_at).to_std().unwrap_or_default());
        world.model.release(&marker);
        until(&world, &job, "job.completed", 1).await?;
        world.see_off().await?;
        let faults = world.take_faults();
        ensure!(faults.is_empty(), "{faults:?}");
    }
    Ok(times)
}

/// Begins a job, and returns its id when it does the work that will be interrupted.
async fn begin(world: &World, interruption: Interruption, marker: &str) -> anyhow::Result<String> {
    let is_first = std::sync::atomic::AtomicBool::new(true);
    world.model.script_with(marker, move |request| {
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
    let request = world
        .access(0)
        .request(0, Method::POST, "/v1/jobs")
        .json(&body);
    let (_, job) = send_surely(&request).await;
    let id = job["id"].as_str().context("a job has an id")?.to_owned();
    let kind = match interruption {
        Interruption::DrainInCommand => "tool.output",
        _ => "message.delta",
    };
    until(world, &id, kind, 1).await?;
    Ok(id)
}

/// The job's events of that type, when there are so many of them.
async fn until(world: &World, id: &str, kind: &str, count: usize) -> anyhow::Result<Vec<Value>> {
    let begun_at = Instant::now();
    let path = format!("/v1/jobs/{id}/events?types={kind}&limit=1000");
    loop {
        let (_, page) = send_surely(&world.access(0).request(0, Method::GET, &path)).await;
        let events = page["data"].as_array().context("a page of events")?;
        if events.len() >= count {
            return Ok(events.clone());
        }
        ensure!(
            begun_at.elapsed() < PATIENCE,
            "there are not {count} of {kind} in {id}"
        );
        sleep(PAUSE).await;
    }
}
