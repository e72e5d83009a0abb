//! Notifications from the database, or periodic ones in their place.

use std::time::Duration;

use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use super::ACQUIRE_TIMEOUT;
use super::deadline::within;
use super::hosts::Primary;
use super::pool::Pool;

/// How long it may be quiet before the connection is checked. Nobody notices otherwise that nothing can come any more.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// The timeout of the check.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause between two looks for news where the database does not notify.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Hears notifications on a connection of its own. Without one, it says periodically that there may be news.
pub struct Listener {
    source: Source,
}

enum Source {
    Server {
        listener: PgListener,
        primary: Primary,
    },
    Clock {
        channels: Vec<String>,
        /// The channels of this tick that have not been reported.
        left: usize,
        ticks: Interval,
    },
}

/// What was said on a channel.
#[derive(Clone, Debug)]
pub struct Notification {
    channel: String,
    payload: String,
}

impl Notification {
    /// Its channel.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// What it is about; empty if there may be news of everything.
    pub fn payload(&self) -> &str {
        &self.payload
    }
}

impl Listener {
    /// Listens to these channels. What was said before is not heard.
    pub async fn open(pool: &Pool, channels: &[&str]) -> sqlx::Result<Self> {
        let source = match pool.route().notifying_hosts() {
            // A dropped listener waits for its server, and keeps its connection until then: not one that others need.
            Some(hosts) => {
                let primary = hosts.find_primary().await?;
                let own = PgPoolOptions::new()
                    .max_connections(1)
                    .max_lifetime(None)
                    .idle_timeout(None)
                    .acquire_timeout(ACQUIRE_TIMEOUT)
                    .connect_lazy_with(primary.options().clone());
                let mut listener = PgListener::connect_with(&own).await?;
                listener.ignore_pool_close_event(true);
                listener.eager_reconnect(false);
                let channels = channels.iter().copied();
                within(ANSWER_TIMEOUT, listener.listen_all(channels)).await?;
                Source::Server { listener, primary }
            }
            None => {
                let mut ticks = interval(POLL_INTERVAL);
                ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                Source::Clock {
                    channels: channels.iter().map(ToString::to_string).collect(),
                    left: 0,
                    ticks,
                }
            }
        };
        Ok(Self { source })
    }

    /// The next notification; `None` when the connection is lost, and with it what is said until another is open.
    pub async fn next(&mut self) -> sqlx::Result<Option<Notification>> {
        match &mut self.source {
            Source::Server { listener, primary } => tokio::select! {
                heard = heard(listener) => heard,
                () = primary.replaced() => Ok(None),
            },
            Source::Clock {
                channels,
                left,
                ticks,
            } => {
                if *left == 0 {
                    ticks.tick().await;
                    *left = channels.len();
                }
                *left -= 1;
                Ok(Some(Notification {
                    channel: channels[*left].clone(),
                    payload: String::new(),
                }))
            }
        }
    }
}

async fn heard(listener: &mut PgListener) -> sqlx::Result<Option<Notification>> {
    loop {
        if let Ok(heard) = timeout(CHECK_INTERVAL, listener.try_recv()).await {
            return Ok(heard?.map(|heard| Notification {
                channel: heard.channel().to_owned(),
                payload: heard.payload().to_owned(),
            }));
        }
        within(ANSWER_TIMEOUT, super::ping(&mut *listener)).await?;
    }
}
