//! The connection pool for requests and jobs.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use log::LevelFilter;
use sqlx::postgres::{
    PgConnectOptions, PgPoolOptions, PgQueryResult, PgRow, PgStatement, PgTypeInfo,
};
use sqlx::{Connection as _, Describe, Either, Execute, Executor, PgPool, Postgres, SqlStr};

use super::ACQUIRE_TIMEOUT;
use super::connection::Connection;
use super::transaction::Transaction;

/// A connection that was used no longer ago than this is taken to be alive still. A server does not restart so quickly,
/// and to ask it each time costs as much as a small statement.
const TRUSTED_FOR: Duration = Duration::from_millis(100);
/// The timeout of a statement. The server itself ends it earlier: see `SETTINGS`.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(35);
/// A statement of many parts looks dear to the planner and takes a millisecond: compiling it first takes longer. A
/// client that is gone keeps its locks until the server notices, hence the last two.
const SETTINGS: &str = "set jit = off; set statement_timeout = '30s'; \
                        set idle_in_transaction_session_timeout = '5min'; set tcp_keepalives_idle = 30";

/// A set of connections, each lent to one user at a time. Every statement has a deadline.
#[derive(Clone, Debug)]
pub struct Pool {
    connections: PgPool,
}

impl Pool {
    /// Opens the first connection.
    pub(super) async fn open(
        options: PgConnectOptions,
        max_connections: u32,
    ) -> sqlx::Result<Self> {
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
            .after_connect(|connection, _| {
                Box::pin(async move {
                    sqlx::raw_sql(SETTINGS).execute(connection).await?;
                    Ok(())
                })
            })
            .connect_with(options)
            .await?;
        Ok(Self { connections })
    }

    /// Borrows a connection.
    pub async fn acquire(&self) -> sqlx::Result<Connection> {
        let connection = self.connections.acquire().await?;
        Ok(Connection::pooled(connection, ANSWER_TIMEOUT))
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

    /// The options for another connection to the same database.
    pub(super) fn connect_options(&self) -> PgConnectOptions {
        (*self.connections.connect_options()).clone()
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
