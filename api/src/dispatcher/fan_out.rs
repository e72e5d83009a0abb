//! The fan-out of milestones to the webhooks that subscribe to them.

use std::time::Duration;

use shared::db::webhook_delivery as delivery;
use shared::db::{self, DedicatedConnection, Pool};
use tokio::time::{MissedTickBehavior, interval};

use super::meters::WebhookMeters;
use super::{RETRY_PAUSE, Wakers};

/// The longest delay before a milestone is fanned out if its notification is lost.
const SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// The first pause while milestones wait for a transaction that began before theirs. It doubles up to `LONGEST_PAUSE`.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Fans out new milestones until it is dropped.
pub(super) async fn run(pool: &Pool, wakers: &Wakers, meters: &WebhookMeters) {
    let mut db = DedicatedConnection::of(pool);
    let mut scans = interval(SCAN_INTERVAL);
    scans.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = scans.tick() => {}
            () = wakers.feed.notified() => {}
        }
        if let Err(error) = fan_out_all(&mut db, pool, wakers, meters).await {
            db.reset();
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot fan out events to webhooks; trying again"
            );
            tokio::time::sleep(RETRY_PAUSE).await;
            wakers.feed.notify_one();
        }
    }
}

/// Fans out all milestones, including those that wait for other transactions.
async fn fan_out_all(
    db: &mut DedicatedConnection,
    pool: &Pool,
    wakers: &Wakers,
    meters: &WebhookMeters,
) -> db::Result<()> {
    let mut pause = FIRST_PAUSE;
    loop {
        let (is_settled, is_unsettled) = delivery::has_unread(db.get().await?).await?;
        if is_settled {
            let Some(count) = delivery::fan_out(pool).await? else {
                // Another process holds the lock, and continues until no milestones are left.
                return Ok(());
            };
            if count > 0 {
                meters.created(count);
                wakers.deliveries.notify_one();
                delivery::notify(db.get().await?).await?;
            }
        } else if is_unsettled {
            tokio::time::sleep(pause).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        } else {
            return Ok(());
        }
    }
}
