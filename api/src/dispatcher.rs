//! The webhook dispatcher: creates deliveries from milestones, and sends them.
//!
//! Every worker process runs one, without a leader. Milestones are fanned out under a lock. The claim on a delivery
//! expires, so another process sends the deliveries of a process that died.

mod content;
mod deliver;
mod fan_out;
mod meters;
mod send;
mod sign;

use std::time::Duration;

use shared::db::{
    FEED_CHANNEL, NotificationReceiver, Notifications, Pool, ReceivedNotification, WEBHOOK_CHANNEL,
};
use shared::secret::MasterKeys;
use shared::telemetry::metrics::Metrics;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::webhook_target::{WebhookClients, WebhookTargets};
use deliver::Deliverer;
use meters::WebhookMeters;

const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// The settings of a dispatcher.
pub struct DispatcherSettings {
    /// The connection pool of the database.
    pub pool: Pool,
    /// The notifications of the process.
    pub notifications: Notifications,
    /// The metrics of the process.
    pub metrics: Metrics,
    /// The master keys that encrypt the signing secrets. Without them, no deliveries are sent.
    pub master_keys: Option<MasterKeys>,
    /// The policy for the addresses of webhooks.
    pub targets: WebhookTargets,
}

/// The wake-up signals for the tasks of a dispatcher.
#[derive(Default)]
struct Wakers {
    /// The feed has new milestones.
    feed: Notify,
    /// A delivery may be due.
    deliveries: Notify,
}

/// Returns the task that sends deliveries until `shutdown` is cancelled. Attempts in progress finish first.
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

/// Wakes the tasks on notifications. Notifications are hints: the next scan finds what they miss.
async fn listen(mut notifications: NotificationReceiver, wakers: &Wakers) {
    loop {
        match notifications.next().await {
            ReceivedNotification::Gap => {
                wakers.feed.notify_one();
                wakers.deliveries.notify_one();
            }
            ReceivedNotification::Notification(it) => match it.channel() {
                FEED_CHANNEL => wakers.feed.notify_one(),
                WEBHOOK_CHANNEL => wakers.deliveries.notify_one(),
                _ => {}
            },
        }
    }
}
