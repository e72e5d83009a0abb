//! The connection pool for requests and jobs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use log::LevelFilter;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPoolOptions, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Connection as _, Describe, Either, Execute, Executor, PgPool, Postgres, SqlStr};

use super::connection::Connection;
use super::deadline::within;
use super::hosts::Primary;
use super::route::DatabaseRoute;
use super::session_settings::{Scripts, SessionSettings};
use super::transaction::Transaction;
use super::{ACQUIRE_TIMEOUT, hosts, is_outage};

/// The time after its last use in which a connection is assumed to be alive. A server does not restart that fast, and
/// a check each time would cost as much as a small statement.
const TRUSTED_FOR: Duration = Duration::from_millis(100);
/// The timeout of a statement. The server ends the statement earlier: see `SETTINGS`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);
/// JIT compilation is off, because a statement with many parts looks expensive to the planner but takes only a
/// millisecond, less than its compilation. A lost client keeps its locks until the server notices. The last two
/// settings limit that time.
const SETTINGS: SessionSettings = SessionSettings(&[
    "jit = off",
    "statement_timeout = '30s'",
    "idle_in_transaction_session_timeout = '5min'",
    "tcp_keepalives_idle = 30",
]);

/// A pool of connections. Every statement has a deadline.
#[derive(Clone, Debug)]
pub struct Pool {
    /// The connections to each server. Only those of the primary are used.
    connections: Arc<[PgPool]>,
    route: DatabaseRoute,
    scripts: Scripts,
}

impl Pool {
    /// Opens the pool and its first connection.
    pub(super) async fn open(route: DatabaseRoute, max_connections: u32) -> sqlx::Result<Self> {
        let scripts = SETTINGS.scripts(route.pooling);
        let settings = settings(&route, &scripts, max_connections);
        let servers = route.hosts.options().iter();
        let connections = servers.map(|server| settings.clone().connect_lazy_with(server.clone()));
        let connections: Arc<[_]> = connections.collect();
        route.hosts.find_primary().await?;
        let pool = Self {
            connections,
            route,
            scripts,
        };
        // Another server may become the primary at any time. `acquire` handles that.
        drop(pool.acquire().await?);
        Ok(pool)
    }

    /// Acquires a connection.
    pub async fn acquire(&self) -> sqlx::Result<Connection> {
        let (connection, primary) = if self.route.hosts.are_several() {
            // Boxed, because each statement on a pool contains this future.
            Box::pin(within(ACQUIRE_TIMEOUT, self.acquire_from_primary())).await?
        } else {
            let primary = self.route.hosts.last_primary();
            (self.of(&primary).acquire().await?, primary)
        };
        let scripts = self.scripts.clone();
        Ok(Connection::pooled(
            connection,
            primary,
            scripts,
            ANSWER_TIMEOUT,
        ))
    }

    /// Acquires a connection to the server that is the primary at that time.
    async fn acquire_from_primary(&self) -> sqlx::Result<(PoolConnection<Postgres>, Primary)> {
        loop {
            let primary = self.route.hosts.last_primary();
            let error = tokio::select! {
                acquired = self.of(&primary).acquire() => match acquired {
                    Ok(connection) => return Ok((connection, primary)),
                    Err(error) => error,
                },
                () = primary.replaced_in_wait() => continue,
            };
            if !is_outage(&error) {
                return Err(error);
            }
            let found = self.route.hosts.find_primary().await?;
            if found.position() == primary.position() {
                return Err(error);
            }
        }
    }

    fn of(&self, primary: &Primary) -> &PgPool {
        &self.connections[primary.position()]
    }

    /// Begins a transaction. Dropping the transaction rolls it back.
    pub async fn begin(&self) -> sqlx::Result<Transaction> {
        Transaction::begin(self.acquire().await?).await
    }

    /// Closes all connections after they have been returned.
    pub async fn close(&self) {
        for connections in &*self.connections {
            connections.close().await;
        }
    }

    /// Returns the number of open connections to the primary.
    pub fn size(&self) -> u32 {
        self.of(&self.route.hosts.last_primary()).size()
    }

    /// Returns the number of idle connections to the primary.
    pub fn num_idle(&self) -> usize {
        self.of(&self.route.hosts.last_primary()).num_idle()
    }

    /// Whether changes are polled because there are no notifications.
    pub fn polls(&self) -> bool {
        self.route.notifying_hosts().is_none()
    }

    /// Returns the servers of this pool.
    pub(super) fn route(&self) -> &DatabaseRoute {
        &self.route
    }
}

fn settings(route: &DatabaseRoute, scripts: &Scripts, max_connections: u32) -> PgPoolOptions {
    let (scripts, are_several) = (scripts.clone(), route.hosts.are_several());
    // Waiting for a connection does not deserve a warning.
    PgPoolOptions::new()
        .acquire_slow_level(LevelFilter::Info)
        .max_connections(max_connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > TRUSTED_FOR {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .after_connect(move |connection, _| {
            let scripts = scripts.clone();
            Box::pin(async move {
                // Another server may have become the primary since this one was found.
                if are_several && hosts::only_reads(connection).await? {
                    return Err(hosts::no_primary());
                }
                scripts.prepare(connection).await
            })
        })
}

impl<'p> Executor<'p> for &'_ Pool {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, sqlx::Result<Either<PgQueryResult, PgRow>>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let pool = self.clone();
        // Collects all rows first, so that the connection is returned before the rows are used.
        let rows = async move {
            let mut connection = pool.acquire().await?;
            let rows: Vec<_> = connection.fetch_many(query).try_collect().await?;
            Ok::<_, sqlx::Error>(stream::iter(rows).map(Ok))
        };
        stream::once(rows).try_flatten().boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, sqlx::Result<Option<PgRow>>>
    where
        'p: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        let pool = self.clone();
        Box::pin(async move { pool.acquire().await?.fetch_optional(query).await })
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, sqlx::Result<PgStatement>>
    where
        'p: 'e,
    {
        let pool = self.clone();
        Box::pin(async move { pool.acquire().await?.prepare_with(sql, parameters).await })
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, sqlx::Result<Describe<Postgres>>>
    where
        'p: 'e,
    {
        let pool = self.clone();
        Box::pin(async move { pool.acquire().await?.describe(sql).await })
    }
}
