//! The deliveries that the tenants' webhook receivers accepted.

use std::time::Duration;

use shared::event::EventKind;
use shared::webhook::EVENTS;
use tokio::time::{Instant, sleep};

use super::history::{Delivered, JobHistory};
use super::service::{ChaosService, TenantWebhook};

/// The longest wait for deliveries after all faults are repaired. After an outage of an hour, the longest retry pause
/// is 2.4 hours of accelerated time.
const TIMEOUT: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);

/// Adds the accepted deliveries to each job and waits until they are complete. Returns unverified deliveries.
pub(super) async fn collect(service: &ChaosService, jobs: &mut [JobHistory]) -> Vec<String> {
    let begun_at = Instant::now();
    let mut unverified = Vec::new();
    loop {
        for (tenant, webhook) in service.webhooks.iter().enumerate() {
            let of_tenant = jobs.iter_mut().filter(|job| job.tenant == tenant);
            take(webhook, of_tenant.collect(), &mut unverified);
        }
        let is_complete = jobs.iter().all(|job| missing(job).next().is_none());
        if is_complete || begun_at.elapsed() > TIMEOUT {
            return unverified;
        }
        sleep(PAUSE).await;
    }
}

/// Assigns the requests of a receiver to their jobs. Repeated deliveries of earlier runs are ignored.
fn take(webhook: &TenantWebhook, mut jobs: Vec<&mut JobHistory>, unverified: &mut Vec<String>) {
    for received in webhook.receiver.take_received() {
        match received.verify(&webhook.secret) {
            Ok(content) if received.is_accepted => {
                let id = &content["data"]["job_id"];
                let is_it = |job: &&mut &mut JobHistory| job.accepted.iter().any(|it| id == it);
                if let Some(job) = jobs.iter_mut().find(is_it) {
                    let id = received.id().to_owned();
                    job.delivered.push(Delivered { id, content });
                }
            }
            Ok(_) => {}
            Err(error) => {
                unverified.push(format!("a delivery is not signed: {error}: {received:?}"));
            }
        }
    }
}

/// Returns the job's milestones that no receiver has accepted, with their sequence numbers.
pub(super) fn missing(job: &JobHistory) -> impl Iterator<Item = (u64, &str)> {
    let milestones = job.events.iter().filter_map(|event| {
        let kind = event["type"].as_str()?;
        let is_delivered = EventKind::parse(kind).is_some_and(|kind| EVENTS.contains(&kind));
        is_delivered.then_some((event["seq"].as_u64()?, kind))
    });
    milestones.filter(|(seq, kind)| {
        let mut delivered = job.delivered.iter();
        !delivered.any(|it| it.content["data"]["seq"] == *seq && it.content["type"] == *kind)
    })
}
