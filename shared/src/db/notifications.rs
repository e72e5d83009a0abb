//! Notifications for all tasks of a process, received on one connection.
//!
//! A notification wakes every listening connection of the database, whatever channels it listens on. Therefore a
//! process has only one.

use std::future::pending;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;

use super::listener::{Listener, Notification};
use super::pool::Pool;

/// The number of notifications that a task can lag behind before it misses some.
const QUEUE_LENGTH: usize = 1024;
/// The delay before a lost connection is replaced.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// The source of a process's notifications.
#[derive(Clone)]
pub struct Notifications {
    sender: broadcast::Sender<ReceivedNotification>,
}

/// An item that a task receives.
#[derive(Clone, Debug)]
pub enum ReceivedNotification {
    /// Earlier notifications may be lost.
    Gap,
    /// A notification.
    Notification(Notification),
}

impl Notifications {
    /// Creates the source, and the task that listens on these channels until it is dropped.
    pub fn new(
        pool: &Pool,
        channels: &'static [&'static str],
    ) -> (Self, impl Future<Output = ()> + use<>) {
        let (sender, _) = broadcast::channel(QUEUE_LENGTH);
        let listening = listen(pool.clone(), channels, sender.clone());
        (Self { sender }, listening)
    }

    /// Subscribes to future notifications. The first item is a gap.
    pub fn subscribe(&self) -> NotificationReceiver {
        NotificationReceiver {
            receiver: self.sender.subscribe(),
            is_new: true,
        }
    }
}

/// The notifications for one task.
pub struct NotificationReceiver {
    receiver: broadcast::Receiver<ReceivedNotification>,
    is_new: bool,
}

impl NotificationReceiver {
    /// Returns the next notification of any channel of the process, or a gap if some may be lost.
    pub async fn next(&mut self) -> ReceivedNotification {
        if std::mem::take(&mut self.is_new) {
            return ReceivedNotification::Gap;
        }
        match self.receiver.recv().await {
            Ok(received) => received,
            Err(RecvError::Lagged(_)) => ReceivedNotification::Gap,
            // The process is shutting down.
            Err(RecvError::Closed) => pending().await,
        }
    }
}

async fn listen(pool: Pool, channels: &[&str], sender: broadcast::Sender<ReceivedNotification>) {
    loop {
        if let Err(error) = listen_once(&pool, channels, &sender).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot listen for notifications; polling until it works again"
            );
        }
        sleep(RETRY_PAUSE).await;
    }
}

async fn listen_once(
    pool: &Pool,
    channels: &[&str],
    sender: &broadcast::Sender<ReceivedNotification>,
) -> sqlx::Result<()> {
    let mut listener = Listener::open(pool, channels).await?;
    // This fails only if there is no receiver.
    let _ = sender.send(ReceivedNotification::Gap);
    while let Some(notification) = listener.next().await? {
        let _ = sender.send(ReceivedNotification::Notification(notification));
    }
    Ok(())
}
