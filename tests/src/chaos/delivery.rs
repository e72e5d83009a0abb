//! Deliveries to the webhooks of the tenants: what their receivers accepted, and time that passes faster.

use std::time::Duration;

use shared::db::Pool;
use shared::event::EventKind;
use shared::webhook::EVENTS;
use tokio::time::{Instant, sleep};

use super::history::{Delivered, JobHistory};
use super::world::{TenantWebhook, World};

/// How much faster time passes for the pauses between attempts: 75 hours of them take less than four minutes.
pub(crate) const HASTE: u32 = 1_200;
/// How much faster it passes for the claims of workers, which attempts must not outlast on a busy machine.
const CLAIM_HASTE: u32 = 10;
const STEP: Duration = Duration::from_millis(100);
/// How long deliveries may take once all is in order: the longest pause after an outage of an hour is 2.4 hours.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(50);

/// Lets time pass faster for deliveries, until it is dropped.
pub(super) async fn hasten(pool: Pool) {
    let mut passed_at = Instant::now();
    loop {
        sleep(STEP).await;
        let passed = passed_at.elapsed();
        // The database may be away, or a delivery locked by a process that is stopped: time passes later then.
        if pass(&pool, passed).await.is_ok() {
            passed_at += passed;
        }
    }
}

/// Brings deliveries nearer to their next attempts, as if the time had been longer.
async fn pass(pool: &Pool, time: Duration) -> sqlx::Result<()> {
    let mut transaction = pool.begin().await?;
    sqlx::query("set local lock_timeout = '100ms'")
        .execute(&mut *transaction)
        .await?;
    // In the order in which the service locks them.
    let states = "select from webhook_state order by webhook_id for update";
    sqlx::query(states).execute(&mut *transaction).await?;
    let nearer = "update webhook_delivery set
                      due_at = due_at - case when claim is null then $1 else $2 end * interval '1 second'
                  where state = 'pending' and due_at > now()";
    let moved = sqlx::query(nearer)
        .bind((time * (HASTE - 1)).as_secs_f64())
        .bind((time * (CLAIM_HASTE - 1)).as_secs_f64())
        .execute(&mut *transaction)
        .await?;
    if moved.rows_affected() > 0 {
        let look = "update webhook_state set next_at = now() where next_at is not null";
        sqlx::query(look).execute(&mut *transaction).await?;
        sqlx::query("select pg_notify('skillet_webhook', '')")
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await
}

/// Gives each job what was accepted of it, when all of that has come. Returns what came and is not signed.
pub(super) async fn collect(world: &World, jobs: &mut [JobHistory]) -> Vec<String> {
    let begun_at = Instant::now();
    let mut unverified = Vec::new();
    loop {
        for (tenant, webhook) in world.webhooks.iter().enumerate() {
            let of_tenant = jobs.iter_mut().filter(|job| job.tenant == tenant);
            take(webhook, of_tenant.collect(), &mut unverified);
        }
        let is_complete = jobs.iter().all(|job| missing(job).next().is_none());
        if is_complete || begun_at.elapsed() > PATIENCE {
            return unverified;
        }
        sleep(PAUSE).await;
    }
}

/// Sorts what has come to a receiver. What is of an earlier run came again, and is left out.
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

/// The milestones of a job that no receiver has accepted, by their place in the log.
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
