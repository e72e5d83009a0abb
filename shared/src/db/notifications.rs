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
    heard: broadcast::Sender<Heard>,
}

/// An item that a task receives.
#[derive(Clone, Debug)]
pub enum Heard {
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
        let (heard, _) = broadcast::channel(QUEUE_LENGTH);
        let listening = listen(pool.clone(), channels, heard.clone());
        (Self { heard }, listening)
    }

    /// Subscribes to future notifications. The first item is a gap.
    pub fn subscribe(&self) -> NotificationReceiver {
        NotificationReceiver {
            heard: self.heard.subscribe(),
            is_new: true,
        }
    }
}

/// The notifications for one task.
pub struct NotificationReceiver {
    heard: broadcast::Receiver<Heard>,
    is_new: bool,
}

impl NotificationReceiver {
    /// Returns the next notification of any channel of the process, or a gap if some may be lost.
    pub async fn next(&mut self) -> Heard {
        if std::mem::take(&mut self.is_new) {
            return Heard::Gap;
        }
        match self.heard.recv().await {
            Ok(heard) => heard,
            Err(RecvError::Lagged(_)) => Heard::Gap,
            // The process is shutting down.
            Err(RecvError::Closed) => pending().await,
        }
    }
}

async fn listen(pool: Pool, channels: &[&str], heard: broadcast::Sender<Heard>) {
    loop {
        if let Err(error) = listen_once(&pool, channels, &heard).await {
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
    heard: &broadcast::Sender<Heard>,
) -> sqlx::Result<()> {
    let mut listener = Listener::open(pool, channels).await?;
    // This fails only if there is no receiver.
    let _ = heard.send(Heard::Gap);
    while let Some(notification) = listener.next().await? {
        let _ = heard.send(Heard::Notification(notification));
    }
    Ok(())
}
