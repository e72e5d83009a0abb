//! The connection pool for requests and jobs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use log::LevelFilter;
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgPoolOptions, PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{Connection as _, Describe, Either, Execute, Executor, PgPool, Postgres, SqlStr};
use tokio::sync::Mutex;
use tokio::time::sleep;

use super::connection::Connection;
use super::route::DatabaseRoute;
use super::session_settings::{Scripts, SessionSettings};
use super::transaction::Transaction;
use super::{ACQUIRE_TIMEOUT, hosts, is_outage};

/// A connection that was used no longer ago than this is taken to be alive still. A server does not restart so quickly,
/// and to ask it each time costs as much as a small statement.
const TRUSTED_FOR: Duration = Duration::from_millis(100);
/// The timeout of a statement. The server itself ends it earlier: see `SETTINGS`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);
/// A statement of many parts looks dear to the planner and takes a millisecond: compiling it first takes longer. A
/// client that is gone keeps its locks until the server notices, hence the last two.
const SETTINGS: SessionSettings = SessionSettings(&[
    "jit = off",
    "statement_timeout = '30s'",
    "idle_in_transaction_session_timeout = '5min'",
    "tcp_keepalives_idle = 30",
]);
/// The pause between two searches for the primary while no connection is available.
const SEARCH_PAUSE: Duration = Duration::from_millis(500);

/// A set of connections, each lent to one user at a time. Every statement has a deadline.
#[derive(Clone, Debug)]
pub struct Pool {
    connections: PgPool,
    route: DatabaseRoute,
    scripts: Scripts,
    /// Held by the one who searches for the primary.
    search: Arc<Mutex<()>>,
}

impl Pool {
    /// Opens the first connection.
    pub(super) async fn open(route: DatabaseRoute, max_connections: u32) -> sqlx::Result<Self> {
        let scripts = SETTINGS.scripts(route.pooling);
        let (prepared, are_several) = (scripts.clone(), route.hosts.are_several());
        // Waiting for a connection is no warning of its own.
        let connections = PgPoolOptions::new()
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
                let scripts = prepared.clone();
                Box::pin(async move {
                    // The primary may have become another since it was found.
                    if are_several && hosts::is_standby(connection).await? {
                        return Err(hosts::no_primary());
                    }
                    scripts.prepare(connection).await
                })
            })
            .connect_with(route.hosts.primary().await?)
            .await?;
        Ok(Self {
            connections,
            route,
            scripts,
            search: Arc::default(),
        })
    }

    /// Borrows a connection.
    pub async fn acquire(&self) -> sqlx::Result<Connection> {
        let connection = if self.route.hosts.are_several() {
            self.acquire_from_primary().await?
        } else {
            self.connections.acquire().await?
        };
        let scripts = self.scripts.clone();
        Ok(Connection::pooled(connection, scripts, ANSWER_TIMEOUT))
    }

    /// Borrows a connection, and searches for the primary while there is none.
    async fn acquire_from_primary(&self) -> sqlx::Result<PoolConnection<Postgres>> {
        let searching = async {
            loop {
                sleep(SEARCH_PAUSE).await;
                self.find_primary().await;
            }
        };
        let acquired = tokio::select! {
            acquired = self.connections.acquire() => acquired,
            never = searching => match never {},
        };
        match acquired {
            Err(error) if is_outage(&error) => {
                self.find_primary().await;
                self.connections.acquire().await
            }
            acquired => acquired,
        }
    }

    /// Directs new connections to the primary, if there is one now.
    async fn find_primary(&self) {
        let _search = self.search.lock().await;
        if let Ok(primary) = self.route.hosts.primary().await {
            self.connections.set_connect_options(primary);
        }
    }

    /// Begins a transaction. Dropping it undoes it.
    pub async fn begin(&self) -> sqlx::Result<Transaction> {
        Transaction::begin(self.acquire().await?).await
    }

    /// Closes all connections, when they have been returned.
    pub async fn close(&self) {
        self.connections.close().await;
    }

    /// Open connections.
    pub fn size(&self) -> u32 {
        self.connections.size()
    }

    /// Idle connections.
    pub fn num_idle(&self) -> usize {
        self.connections.num_idle()
    }

    /// Whether news are polled, without notifications.
    pub fn polls(&self) -> bool {
        self.route.notifying_hosts().is_none()
    }

    /// The servers of this pool.
    pub(super) fn route(&self) -> &DatabaseRoute {
        &self.route
    }
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
        // All rows at once: the connection is back before they are used.
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
