//! Notifications from the database, or periodic ones as a substitute.

use std::time::Duration;

use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use super::ACQUIRE_TIMEOUT;
use super::deadline::within;
use super::hosts::Primary;
use super::pool::Pool;

/// The time without notifications after which the connection is checked. Otherwise a dead connection goes unnoticed.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// The timeout of the check.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
/// The interval of substitute notifications for a database that sends none.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Receives notifications on a dedicated connection, or periodically reports that anything may have changed.
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

/// A notification on a channel.
#[derive(Clone, Debug)]
pub struct Notification {
    channel: String,
    payload: String,
}

impl Notification {
    /// Returns the channel.
    pub fn channel(&self) -> &str {
        &self.channel
    }

    /// Returns the payload. It is empty if anything may have changed.
    pub fn payload(&self) -> &str {
        &self.payload
    }
}

impl Listener {
    /// Listens on these channels. Earlier notifications are not received.
    pub async fn open(pool: &Pool, channels: &[&str]) -> sqlx::Result<Self> {
        let source = match pool.route().notifying_hosts() {
            // A dropped listener keeps its connection until the server responds, so it does not use a shared
            // connection.
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

    /// Returns the next notification, or `None` if the connection is lost. Notifications are lost until another
    /// listener opens.
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
