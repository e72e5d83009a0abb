//! The feeds of the tenants, which are read like by another system: each run continues at the cursors of the last.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use reqwest::Method;
use serde_json::Value;
use shared::event::is_terminal;
use tokio::time::sleep;

use super::client::send_until_answered;
use super::world::World;

/// The longest wait for a milestone after all faults are repaired.
const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// Returns the tenant's new milestones. Waits until they contain the ends of the given jobs.
pub(crate) async fn read_on(
    world: &mut World,
    tenant: usize,
    ended: &[&str],
) -> anyhow::Result<Vec<Value>> {
    let (mut milestones, begun_at) = (Vec::new(), Instant::now());
    loop {
        read_page(world, tenant, &mut milestones).await?;
        if ended.iter().all(|job| has_end(&milestones, job)) || begun_at.elapsed() > TIMEOUT {
            return Ok(milestones);
        }
        sleep(PAUSE).await;
    }
}

async fn read_page(
    world: &mut World,
    tenant: usize,
    milestones: &mut Vec<Value>,
) -> anyhow::Result<()> {
    let cursor = world.feed_cursors[tenant].take();
    let after = cursor.map(|cursor| format!("&after={cursor}"));
    let path = format!("/v1/events?limit=100{}", after.unwrap_or_default());
    let request = world.access(0).request(tenant, Method::GET, &path);
    let (status, page) = send_until_answered(&request).await;
    ensure!(status.is_success(), "the feed cannot be read: {page}");
    let data = page["data"].as_array().context("a page of milestones")?;
    milestones.extend(data.iter().cloned());
    let end = page["cursor"].as_str().context("a page has a cursor")?;
    world.feed_cursors[tenant] = Some(end.to_owned());
    Ok(())
}

fn has_end(milestones: &[Value], job: &str) -> bool {
    let mut of_job = milestones.iter().filter(|entry| entry["job_id"] == job);
    of_job.any(|entry| entry["type"].as_str().is_some_and(is_terminal))
}
