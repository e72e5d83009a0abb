//! The dispatcher of webhooks: turns milestones into deliveries, and delivers them.
//!
//! Every worker process has one, and none is the leader. Events are fanned out under a lock, and deliveries are claimed
//! for a while, so what a process that died had claimed is delivered by another.

mod content;
mod deliver;
mod fan_out;
mod meters;
mod send;
mod sign;

use std::time::Duration;

use shared::db::{FEED_CHANNEL, Heard, NotificationReceiver, Notifications, Pool, WEBHOOK_CHANNEL};
use shared::secret::MasterKeys;
use shared::telemetry::metrics::Metrics;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::webhook_target::{WebhookClients, WebhookTargets};
use deliver::Deliverer;
use meters::WebhookMeters;

const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// What a dispatcher needs.
pub struct DispatcherSettings {
    /// Connections to the database.
    pub pool: Pool,
    /// The notifications of the process.
    pub notifications: Notifications,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The keys of the secrets that sign. Without them nothing is delivered.
    pub master_keys: Option<MasterKeys>,
    /// The addresses that may be reached.
    pub targets: WebhookTargets,
}

/// What wakes the tasks of a dispatcher.
#[derive(Default)]
struct Wakers {
    /// The feed has new milestones.
    feed: Notify,
    /// A delivery may be due.
    deliveries: Notify,
}

/// The task that delivers until it is told to end. Attempts that were begun are finished first.
pub fn run(
    settings: DispatcherSettings,
    shutdown: CancellationToken,
) -> anyhow::Result<impl Future<Output = ()>> {
    let DispatcherSettings {
        pool,
        notifications,
        metrics,
        master_keys,
        targets,
    } = settings;
    let clients = WebhookClients::new(targets)?;
    let meters = WebhookMeters::new(&metrics);
    let deliverer =
        master_keys.map(|keys| Deliverer::new(pool.clone(), keys, clients, meters.clone()));
    Ok(async move {
        let wakers = Wakers::default();
        let deliver = async {
            match deliverer {
                Some(deliverer) => deliverer.run(&wakers.deliveries, &shutdown).await,
                None => shutdown.cancelled().await,
            }
        };
        tokio::select! {
            () = deliver => {}
            () = listen(notifications.subscribe(), &wakers) => {}
            () = fan_out::run(&pool, &wakers, &meters) => {}
        }
    })
}

/// Wakes the tasks by notifications. These are hints: what they miss, the next scan finds.
async fn listen(mut notifications: NotificationReceiver, wakers: &Wakers) {
    loop {
        match notifications.next().await {
            Heard::Gap => {
                wakers.feed.notify_one();
                wakers.deliveries.notify_one();
            }
            Heard::Notification(it) => match it.channel() {
                FEED_CHANNEL => wakers.feed.notify_one(),
                WEBHOOK_CHANNEL => wakers.deliveries.notify_one(),
                _ => {}
            },
        }
    }
}
