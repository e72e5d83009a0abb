//! The feeds of the tenants, which are read like by another system: each run continues at the cursors of the last.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use reqwest::Method;
use serde_json::Value;
use shared::event::is_terminal;
use tokio::time::sleep;

use super::client::send_until_answered;
use super::service::ChaosService;

/// The longest wait for a milestone after all faults are repaired.
const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// Returns the tenant's new milestones. Waits until they contain the ends of the given jobs.
pub(crate) async fn read_on(
    service: &mut ChaosService,
    tenant: usize,
    ended: &[&str],
) -> anyhow::Result<Vec<Value>> {
    let (mut milestones, begun_at) = (Vec::new(), Instant::now());
    loop {
        read_page(service, tenant, &mut milestones).await?;
        if ended.iter().all(|job| has_end(&milestones, job)) || begun_at.elapsed() > TIMEOUT {
            return Ok(milestones);
        }
        sleep(PAUSE).await;
    }
}

async fn read_page(
    service: &mut ChaosService,
    tenant: usize,
    milestones: &mut Vec<Value>,
) -> anyhow::Result<()> {
    let cursor = service.feed_cursors[tenant].take();
    let after = cursor.map(|cursor| format!("&after={cursor}"));
    let path = format!("/v1/events?limit=100{}", after.unwrap_or_default());
    let request = service.access(0).request(tenant, Method::GET, &path);
    let (status, page) = send_until_answered(&request).await;
    ensure!(status.is_success(), "the feed cannot be read: {page}");
    let data = page["data"].as_array().context("a page of milestones")?;
    milestones.extend(data.iter().cloned());
    let end = page["cursor"].as_str().context("a page has a cursor")?;
    service.feed_cursors[tenant] = Some(end.to_owned());
    Ok(())
}

fn has_end(milestones: &[Value], job: &str) -> bool {
    let mut of_job = milestones.iter().filter(|entry| entry["job_id"] == job);
    of_job.any(|entry| entry["type"].as_str().is_some_and(is_terminal))
}
