//! A dedicated connection, for a task that sends a few statements all the time.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection};

use super::ACQUIRE_TIMEOUT;
use super::connection::Connection;
use super::deadline::within;
use super::pool::Pool;
use super::route::DatabaseRoute;
use super::session_settings::{Scripts, SessionSettings};

/// Each statement is planned once, and so that the plan stays good whatever becomes of the tables: one that is empty
/// today is read whole by the plans of today, and holds a million rows tomorrow.
const SETTINGS: SessionSettings = SessionSettings(&[
    "jit = off",
    "plan_cache_mode = force_generic_plan",
    "enable_seqscan = off",
    "enable_bitmapscan = off",
    "statement_timeout = '8s'",
    "tcp_keepalives_idle = 30",
]);

/// The deadline for the answer of a statement: its task waits for it. The server ends the statement earlier: see
/// `SETTINGS`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// A connection for one task, opened when it is first needed and again after an error.
///
/// A pool asks the server whether a connection is alive each time that it lends one and takes it back, which costs as
/// much as a small statement.
pub struct DedicatedConnection {
    route: DatabaseRoute,
    scripts: Scripts,
    connection: Option<Connection>,
}

impl DedicatedConnection {
    /// To the database of that pool, beside its connections.
    pub fn of(pool: &Pool) -> Self {
        let route = pool.route().clone();
        Self {
            scripts: SETTINGS.scripts(route.pooling),
            route,
            connection: None,
        }
    }

    /// The connection. Each statement on it has a deadline.
    pub async fn get(&mut self) -> sqlx::Result<&mut Connection> {
        let open = match self.connection.take() {
            Some(open) if !open.is_broken() && !open.in_transaction => open,
            // Boxed, because it is rare and large.
            _ => Box::pin(within(ACQUIRE_TIMEOUT, open(&self.route, &self.scripts))).await?,
        };
        Ok(self.connection.insert(open))
    }

    /// Drops the connection. Call it after an error: the next statement opens another one.
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
