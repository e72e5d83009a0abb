//! A connection of its own, for a task that sends the same few statements all the time.

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection, PgConnection, PgPool};
use tokio::time::timeout;

use super::ACQUIRE_TIMEOUT;

/// Each statement is planned once, and so that the plan stays good whatever becomes of the tables: one that is empty
/// today is read whole by the plans of today, and holds a million rows tomorrow.
const SETTINGS: &str = "set jit = off; set plan_cache_mode = force_generic_plan; \
                        set enable_seqscan = off; set enable_bitmapscan = off";

/// A connection that nobody else uses, opened when it is first needed and again after an error.
///
/// A pool asks the server whether a connection is alive each time that it lends one and takes it back, which costs as
/// much as a small statement.
pub struct Steady {
    options: PgConnectOptions,
    connection: Option<PgConnection>,
}

impl Steady {
    /// To the database of that pool, beside its connections.
    pub fn of(pool: &PgPool) -> Self {
        Self {
            options: (*pool.connect_options()).clone(),
            connection: None,
        }
    }

    /// The connection.
    pub async fn get(&mut self) -> sqlx::Result<&mut PgConnection> {
        let open = match self.connection.take() {
            Some(open) => open,
            None => timeout(ACQUIRE_TIMEOUT, open(&self.options))
                .await
                .map_err(|_| sqlx::Error::PoolTimedOut)??,
        };
        Ok(self.connection.insert(open))
    }

    /// To be called after an error: the next statement gets another connection.
    pub fn forget(&mut self) {
        self.connection = None;
    }
}

async fn open(options: &PgConnectOptions) -> sqlx::Result<PgConnection> {
    let mut connection = PgConnection::connect_with(options).await?;
    sqlx::raw_sql(SETTINGS).execute(&mut connection).await?;
    Ok(connection)
}
