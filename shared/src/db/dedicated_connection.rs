//! A dedicated connection for a task that continuously sends a few statements.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection};

use super::ACQUIRE_TIMEOUT;
use super::connection::Connection;
use super::deadline::within;
use super::pool::Pool;
use super::route::DatabaseRoute;
use super::session_settings::{Scripts, SessionSettings};

/// Each statement is planned once. Its plan must stay efficient as tables grow: for a table that is empty at the time,
/// the planner would choose a sequential scan, even if the table has a million rows later.
const SETTINGS: SessionSettings = SessionSettings(&[
    "jit = off",
    "plan_cache_mode = force_generic_plan",
    "enable_seqscan = off",
    "enable_bitmapscan = off",
    "statement_timeout = '8s'",
    "tcp_keepalives_idle = 30",
]);

/// The timeout of a statement's response, which blocks its task. The server ends the statement earlier: see
/// `SETTINGS`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection for one task. It opens on first use and again after an error.
///
/// A pool checks with the server that a connection is alive whenever it is acquired or returned, which costs as much
/// as a small statement.
pub struct DedicatedConnection {
    route: DatabaseRoute,
    scripts: Scripts,
    connection: Option<Connection>,
}

impl DedicatedConnection {
    /// Creates a connection to the database of a pool, separate from the connections of the pool.
    pub fn of(pool: &Pool) -> Self {
        let route = pool.route().clone();
        Self {
            scripts: SETTINGS.scripts(route.pooling),
            route,
            connection: None,
        }
    }

    /// Returns the connection. Each statement on it has a deadline.
    pub async fn get(&mut self) -> sqlx::Result<&mut Connection> {
        let open = match self.connection.take() {
            Some(open) if !open.is_broken() && !open.in_transaction => open,
            // Boxed, because this future is large and rarely needed.
            _ => Box::pin(within(ACQUIRE_TIMEOUT, open(&self.route, &self.scripts))).await?,
        };
        Ok(self.connection.insert(open))
    }

    /// Closes the connection. Call this after an error. The next statement opens a new connection.
    pub fn reset(&mut self) {
        self.connection = None;
    }
}

async fn open(route: &DatabaseRoute, scripts: &Scripts) -> sqlx::Result<Connection> {
    let primary = route.hosts.find_primary().await?;
    let connecting = async {
        let mut connection = PgConnection::connect_with(primary.options()).await?;
        scripts.prepare(&mut connection).await?;
        Ok(connection)
    };
    let connection = primary.unless_replaced(connecting).await?;
    Ok(Connection::dedicated(
        connection,
        primary,
        scripts.clone(),
        ANSWER_TIMEOUT,
    ))
}
