//! Notifications from the database.

use std::time::Duration;

use sqlx::postgres::{PgListener, PgNotification, PgPoolOptions};
use tokio::time::timeout;

use super::ACQUIRE_TIMEOUT;
use super::connection::within;
use super::pool::Pool;

/// How long it may be quiet before the connection is checked. Nobody notices otherwise that nothing can come any more.
const CHECK_INTERVAL: Duration = Duration::from_secs(15);
/// The timeout of the check.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Hears notifications on a connection of its own.
pub struct Listener {
    inner: PgListener,
}

impl Listener {
    /// Listens to these channels. What was said before is not heard.
    pub async fn open(pool: &Pool, channels: &[&str]) -> sqlx::Result<Self> {
        // A dropped listener waits for its server, and keeps its connection until then: not one that others need.
        let own = PgPoolOptions::new()
            .max_connections(1)
            .max_lifetime(None)
            .idle_timeout(None)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_lazy_with(pool.connect_options());
        let mut inner = PgListener::connect_with(&own).await?;
        inner.ignore_pool_close_event(true);
        inner.eager_reconnect(false);
        within(ANSWER_TIMEOUT, inner.listen_all(channels.iter().copied())).await?;
        Ok(Self { inner })
    }

    /// The next notification; `None` when the connection is lost, and with it what is said until another is open.
    pub async fn next(&mut self) -> sqlx::Result<Option<PgNotification>> {
        loop {
            if let Ok(heard) = timeout(CHECK_INTERVAL, self.inner.try_recv()).await {
                return heard;
            }
            within(ANSWER_TIMEOUT, super::ping(&mut self.inner)).await?;
        }
    }
}
