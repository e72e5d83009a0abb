//! Notifications for all tasks of a process, heard on one connection.
//!
//! A notification wakes each listening connection of the database, whatever channel it listens to, so a process has
//! only one.

use std::future::pending;
use std::time::Duration;

use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::sleep;

use super::listener::{Listener, Notification};
use super::pool::Pool;

/// Notifications that a task may be behind before it has missed some.
const QUEUE_LENGTH: usize = 1024;
/// The pause before a lost connection is replaced.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// The source of a process's notifications.
#[derive(Clone)]
pub struct Notifications {
    heard: broadcast::Sender<Heard>,
}

/// What a task hears.
#[derive(Clone, Debug)]
pub enum Heard {
    /// Earlier notifications may be lost.
    Gap,
    /// A notification.
    Notification(Notification),
}

impl Notifications {
    /// The source, and the task that listens to these channels until it is dropped.
    pub fn new(
        pool: &Pool,
        channels: &'static [&'static str],
    ) -> (Self, impl Future<Output = ()> + use<>) {
        let (heard, _) = broadcast::channel(QUEUE_LENGTH);
        let listening = listen(pool.clone(), channels, heard.clone());
        (Self { heard }, listening)
    }

    /// Hears what is said from now on. The first that it hears is a gap.
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
    /// The next notification of any channel of the process, or that some may be lost.
    pub async fn next(&mut self) -> Heard {
        if std::mem::take(&mut self.is_new) {
            return Heard::Gap;
        }
        match self.heard.recv().await {
            Ok(heard) => heard,
            Err(RecvError::Lagged(_)) => Heard::Gap,
            // The process ends.
            Err(RecvError::Closed) => pending().await,
        }
    }
}

async fn listen(pool: Pool, channels: &[&str], heard: broadcast::Sender<Heard>) {
    loop {
        if let Err(error) = listen_once(&pool, channels, &heard).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "not listening, polling meanwhile"
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
    // Without a receiver there is nobody to tell.
    let _ = heard.send(Heard::Gap);
    while let Some(notification) = listener.next().await? {
        let _ = heard.send(Heard::Notification(notification));
    }
    Ok(())
}
