//! One long job whose workers are replaced repeatedly.
//!
//! No work is lost or done twice, and no attempt is used up.

use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, ensure};
use chrono::{DateTime, Utc};
use reqwest::Method;
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout};

use super::client::{Client, send_until_answered};
use super::deployment::Deployment;
use super::fault::Fault;
use super::schedule::{Kind, Planned};
use super::{ChaosService, Setup, check, collect, workload};

/// The longest wait for each step, and for the whole job.
const TIMEOUT: Duration = Duration::from_secs(300);
const PAUSE: Duration = Duration::from_millis(10);
const RUN: &str = "rolling";

/// The results of the run.
#[derive(Debug)]
pub struct Rolled {
    /// The violations.
    pub violations: Vec<String>,
    /// The time from each SIGTERM until the job was handed back.
    pub handed_back: Vec<Duration>,
}

/// Runs a job with the given number of turns, and replaces its worker `restarts` times during the run.
pub async fn roll(setup: Setup, turns: usize, restarts: usize) -> anyhow::Result<Rolled> {
    let mut service = ChaosService::start(setup, Deployment::default()).await?;
    service.start_worker(0);
    service.until_workers(1).await?;
    let client = Client {
        access: service.access(0),
        key: format!("{RUN}.0"),
        plan: Planned {
            at: Duration::ZERO,
            kind: Kind::Loop { turns },
            tenant: 0,
            api: 0,
            cancel_after: None,
            hangs_up: false,
            patience: usize::MAX,
        },
        conversation: String::new(),
        seen: Mutex::default(),
    };
    workload::script(
        &service.model,
        RUN,
        &[(client.key.clone(), client.plan.clone())],
    );
    let wall_begun_at = Utc::now();
    let living = timeout(TIMEOUT, client.live(Instant::now()));
    let replacing = replace(&mut service, &client, turns, restarts);
    let (lived, handed_back) = tokio::join!(living, replacing);
    lived.context("the job did not end")??;
    service.await_drained().await?;
    let mut history = collect::collect(&mut service, RUN, std::slice::from_ref(&client)).await?;
    history.span = (wall_begun_at, Utc::now());
    let mut violations: Vec<_> = check(&history).into_iter().map(|it| it.what).collect();
    let job = &history.jobs[0];
    let (retries, drains) = (job.of_type("job.retrying").count(), job.retried("drain"));
    if retries != restarts || drains != restarts {
        violations.push(format!(
            "{retries} attempts ended before the job, {drains} of them drained"
        ));
    }
    let shown = job.of_type("tool.completed").last().and_then(stdout);
    if shown != Some(undisturbed(&client.key, turns)) {
        violations.push(format!("the job came to {shown:?}"));
    }
    Ok(Rolled {
        violations,
        handed_back: handed_back?,
    })
}

/// The expected output of the last command.
fn undisturbed(key: &str, turns: usize) -> String {
    let lines = (0..turns).map(|turn| format!("{key} turn {turn}\n"));
    format!("{}\n{}", workload::SHOWN, lines.collect::<String>())
}

fn stdout(completed: &Value) -> Option<String> {
    let output: Value = serde_json::from_str(completed["data"]["output"].as_str()?).ok()?;
    Some(output["stdout"].as_str()?.to_owned())
}

/// Replaces the worker after every few turns. Returns the time of each handover.
async fn replace(
    service: &mut ChaosService,
    client: &Client,
    turns: usize,
    restarts: usize,
) -> anyhow::Result<Vec<Duration>> {
    let mut handed_back = Vec::new();
    for number in 0..restarts {
        // The only worker has the job.
        let turn = turns * number / restarts;
        until(client, "message.completed", turn + 1).await?;
        until(client, "job.started", number + 1).await?;
        let (old, new) = (number % 2, (number + 1) % 2);
        service.start_worker(new);
        service.until_workers(2).await?;
        let told_at = Utc::now();
        service.inflict(Fault::Drain(old)).await?;
        let events = until(client, "job.retrying", number + 1).await?;
        let at = events[number]["at"].as_str().unwrap_or_default();
        let at: DateTime<Utc> = at.parse()?;
        handed_back.push((at - told_at).to_std().unwrap_or_default());
        service.await_drained().await?;
    }
    Ok(handed_back)
}

/// Waits until the job has `count` events of a type, and returns them.
async fn until(client: &Client, kind: &str, count: usize) -> anyhow::Result<Vec<Value>> {
    let begun_at = Instant::now();
    loop {
        let id = client.seen().accepted.first().cloned();
        if let Some(id) = id {
            let path = format!("/v1/jobs/{id}/events?types={kind}&limit=1000");
            let (_, page) = send_until_answered(&client.request(Method::GET, &path)).await;
            let events = page["data"].as_array().context("a page of events")?;
            if events.len() >= count {
                return Ok(events.clone());
            }
        }
        ensure!(
            begun_at.elapsed() < TIMEOUT,
            "there are not {count} of {kind}"
        );
        sleep(PAUSE).await;
    }
}
