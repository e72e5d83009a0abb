//! Collection of the history of a run after all of its jobs have ended.

use std::collections::HashMap;

use anyhow::Context;
use reqwest::Method;
use serde_json::Value;
use sha2::{Digest, Sha256};
use shared::db;
use shared::id::{JobId, WorkerId};

use super::client::{Client, read_stream, send_until_answered};
use super::delivery;
use super::feed::read_on;
use super::history::{Asked, Download, History, JobHistory, Replay};
use super::schedule::TENANTS;
use super::service::{CAPS, ChaosService};
use super::workload::{marked, turn};

/// The highest number of cuts from which a log is replayed.
const MAX_CUTS: usize = 12;

/// Collects the history of a run.
pub(crate) async fn collect(
    service: &mut ChaosService,
    run: &str,
    clients: &[Client],
) -> anyhow::Result<History> {
    let mut history = History {
        next_version: service.workers_of_next_version().collect(),
        caps: HashMap::from(CAPS),
        process_violations: service.take_faults(),
        model_violations: service.take_model_violations(),
        ..History::default()
    };
    let requests = service.model.requests(run);
    for client in clients {
        let seen = client.seen().clone();
        let mut job = JobHistory {
            tenant: client.plan.tenant,
            is_of_next_version: client.is_of_next_version(),
            conversation: client.conversation_id(),
            accepted: seen.accepted,
            cancel_accepted: seen.cancel_accepted,
            followed: seen.followed,
            ..JobHistory::default()
        };
        let mark = marked(&client.key);
        let asked = requests.iter().filter_map(|request| {
            Some(Asked {
                worker: request.headers.get("x-api-key")?.parse().ok()?,
                turn: turn(request, &mark)?,
            })
        });
        job.asked = asked.collect();
        read(service, client, &mut job).await?;
        job.key.clone_from(&client.key);
        history.jobs.push(job);
    }
    read_feeds(service, &mut history.jobs).await?;
    history.unverified = delivery::collect(service, &mut history.jobs).await;
    Ok(history)
}

/// Adds the job's milestones in its tenant's feed to each job.
async fn read_feeds(service: &mut ChaosService, jobs: &mut [JobHistory]) -> anyhow::Result<()> {
    for tenant in 0..TENANTS {
        let of_tenant = || jobs.iter().filter(|job| job.tenant == tenant);
        let ended = of_tenant().filter(|job| job.has_ended());
        let ended: Vec<_> = ended
            .filter_map(|job| Some(job.accepted.first()?.as_str()))
            .collect();
        let feed = read_on(service, tenant, &ended).await?;
        for job in jobs.iter_mut().filter(|job| job.tenant == tenant) {
            let id = job.accepted.first();
            let own = feed
                .iter()
                .filter(|entry| entry["job_id"].as_str() == id.map(String::as_str));
            job.feed = own.cloned().collect();
        }
    }
    Ok(())
}

async fn read(service: &ChaosService, client: &Client, job: &mut JobHistory) -> anyhow::Result<()> {
    let stored = sqlx::query_scalar::<_, JobId>("select id from job where metadata->>'key' = $1");
    let stored = stored.bind(&client.key).fetch_all(&service.pool).await?;
    job.stored = stored.iter().map(JobId::to_string).collect();
    let Some(id) = job.accepted.first().cloned() else {
        return Ok(());
    };
    let in_queue = sqlx::query_scalar("select exists (select from run where job_id = $1)");
    job.is_in_queue = in_queue
        .bind(id.parse::<JobId>()?)
        .fetch_one(&service.pool)
        .await?;
    let events = db::event::list(&service.pool, id.parse()?, 0, &[], i64::MAX).await?;
    let events = events.iter().map(serde_json::to_value);
    job.events = events.collect::<Result<_, _>>()?;
    job.starters = starters(service, &job.events).await?;
    let get = |path: &str| client.request(Method::GET, path);
    let path = format!("/v1/jobs/{id}");
    (_, job.job) = send_until_answered(&get(&path)).await;
    for api in (0..service.apis()).filter(|api| *api != client.plan.api) {
        let access = service.access(api);
        let request = access.request(client.plan.tenant, Method::GET, &path);
        job.job_elsewhere
            .push(send_until_answered(&request).await.1);
    }
    if !job.has_ended() {
        // The stream of an unfinished job would not end either.
        return Ok(());
    }
    let step = job.events.len().div_ceil(MAX_CUTS).max(1);
    for after in (0..job.events.len()).step_by(step) {
        let mut stream = Vec::new();
        let request = get(&format!("/v1/jobs/{id}/stream")).header("Last-Event-ID", after);
        read_stream(request.send().await?, &mut stream, usize::MAX).await;
        let pages = pages(client, &id, after).await?;
        job.replays.push(Replay {
            after,
            stream,
            pages,
        });
    }
    for output in job.job["outputs"].as_array().into_iter().flatten() {
        let asset = &output["asset"];
        let text = |name: &str| asset[name].as_str().unwrap_or_default();
        let response = get(text("content_url")).send().await?;
        let status = response.status();
        let content = response.bytes().await?;
        job.downloads.push(Download {
            stated: text("sha256").to_owned(),
            found: if status.is_success() {
                Ok(hex::encode(Sha256::digest(&content)))
            } else {
                Err(status.to_string())
            },
        });
    }
    Ok(())
}

/// Reads the log of a job after an event, page by page.
async fn pages(client: &Client, id: &str, after: usize) -> anyhow::Result<Vec<Value>> {
    let mut all = Vec::new();
    let first = format!("/v1/jobs/{id}/events?after={after}&limit=1000");
    let mut path = first.clone();
    loop {
        let (status, page) = send_until_answered(&client.request(Method::GET, &path)).await;
        let events = page["data"].as_array();
        let events =
            events.with_context(|| format!("{path} was answered with {status}: {page}"))?;
        all.extend(events.iter().cloned());
        let Some(next) = page["next_cursor"].as_str() else {
            return Ok(all);
        };
        path = format!("{first}&cursor={next}");
    }
}

/// Returns the number of the worker that started each attempt.
async fn starters(service: &ChaosService, events: &[Value]) -> anyhow::Result<HashMap<i64, usize>> {
    let mut starters = HashMap::new();
    for event in events.iter().filter(|event| event["type"] == "job.started") {
        let worker: WorkerId = serde_json::from_value(event["data"]["worker"].clone())?;
        let name = sqlx::query_scalar::<_, String>("select name from worker where id = $1");
        let name = name.bind(worker).fetch_one(&service.pool).await?;
        let process = name.rsplit(':').next().and_then(|id| id.parse().ok());
        let number = process.and_then(|process| service.number_of(process));
        let number = number.with_context(|| format!("{name} is no worker of ours"))?;
        starters.insert(JobHistory::attempt(event), number);
    }
    Ok(starters)
}
