//! A database connection on which every statement has a deadline.

use std::time::Duration;

use futures_util::TryFutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt, TryStreamExt};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgQueryResult, PgRow, PgStatement, PgTypeInfo};
use sqlx::{AssertSqlSafe, Describe, Either, Execute, Executor, PgConnection, Postgres, SqlStr};
use tokio::runtime::Handle;
use tokio::time::{Instant, timeout, timeout_at};

use super::deadline::no_answer;
use super::hosts::Primary;
use super::pooling::Pooling;
use super::session_settings::Scripts;
use super::unnamed::Unnamed;

/// The timeout for making a connection usable again that is returned during a statement or a transaction.
const RETURN_TIMEOUT: Duration = Duration::from_secs(5);

/// The server is read-only, like a standby: `read_only_sql_transaction`.
const ONLY_READS: &str = "25006";

/// A connection on which every statement has a deadline.
///
/// The server itself ends slow statements (`statement_timeout`). The deadline is for a server that does not respond at
/// all, because its host or the network is down. TCP alone would notice that after many minutes or never. If the URL
/// names several servers, the wait also ends when another server is the primary. In both cases the outcome of the
/// statement is unknown, and the connection is not used again.
#[derive(Debug)]
pub struct Connection {
    raw: Raw,
    /// The server of this connection.
    primary: Primary,
    scripts: Scripts,
    answer_timeout: Duration,
    /// Whether a transaction may be open.
    pub(super) in_transaction: bool,
    is_broken: bool,
}

/// An item of a statement's result.
type Outcome = Either<PgQueryResult, PgRow>;

#[derive(Debug)]
enum Raw {
    Dedicated(PgConnection),
    /// `None` after the connection is returned.
    Pooled(Option<PoolConnection<Postgres>>),
}

impl Connection {
    pub(super) fn dedicated(
        connection: PgConnection,
        primary: Primary,
        scripts: Scripts,
        answer_timeout: Duration,
    ) -> Self {
        Self::new(Raw::Dedicated(connection), primary, scripts, answer_timeout)
    }

    pub(super) fn pooled(
        connection: PoolConnection<Postgres>,
        primary: Primary,
        scripts: Scripts,
        answer_timeout: Duration,
    ) -> Self {
        Self::new(
            Raw::Pooled(Some(connection)),
            primary,
            scripts,
            answer_timeout,
        )
    }

    fn new(raw: Raw, primary: Primary, scripts: Scripts, answer_timeout: Duration) -> Self {
        Self {
            raw,
            primary,
            scripts,
            answer_timeout,
            in_transaction: false,
            is_broken: false,
        }
    }

    /// Begins a transaction.
    pub(super) async fn begin(&mut self) -> sqlx::Result<()> {
        // Set first: if this future is dropped, the transaction may have begun.
        self.in_transaction = true;
        let begin = AssertSqlSafe(self.scripts.begin.to_string());
        sqlx::raw_sql(begin).execute(&mut *self).await?;
        Ok(())
    }

    /// Ends a transaction with `commit` or `rollback`.
    pub(super) async fn end(&mut self, statement: &'static str) -> sqlx::Result<()> {
        sqlx::raw_sql(statement).execute(&mut *self).await?;
        self.in_transaction = false;
        Ok(())
    }

    /// Whether a statement needs a transaction of its own. Without one, a pooler in transaction mode may run the parts
    /// of the statement in several sessions.
    fn needs_transaction(&self) -> bool {
        self.scripts.pooling != Pooling::Session && !self.in_transaction
    }

    /// Runs a statement in a transaction of its own.
    async fn run_alone<'q, E>(&mut self, query: E) -> sqlx::Result<Vec<Outcome>>
    where
        E: 'q + Execute<'q, Postgres>,
    {
        self.begin().await?;
        let outcome = self.fetch_many(query).try_collect().await;
        let end = if outcome.is_ok() {
            "commit"
        } else {
            "rollback"
        };
        let ended = self.end(end).await;
        // The first error takes precedence.
        outcome.and_then(|rows| ended.map(|()| rows))
    }

    /// Whether the connection is unusable: a statement got no response, or the server is not the primary.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken || self.primary.is_replaced()
    }
}

impl Raw {
    fn get(&mut self) -> &mut PgConnection {
        match self {
            Self::Dedicated(connection) => connection,
            Self::Pooled(connection) => connection.as_mut().expect("it is taken only on drop"),
        }
    }
}

/// Waits for one item of a statement's result.
async fn answer<T>(
    is_broken: &mut bool,
    primary: &Primary,
    deadline: Instant,
    waiting: impl Future<Output = sqlx::Result<T>>,
) -> sqlx::Result<T> {
    if *is_broken {
        return Err(no_answer());
    }
    let answer = tokio::select! {
        biased;
        answer = timeout_at(deadline, waiting) => answer.unwrap_or_else(|_| Err(no_answer())),
        () = primary.replaced_in_wait() => Err(no_answer()),
    };
    *is_broken |= answer.as_ref().is_err_and(is_end);
    answer
}

/// Whether no further statement, or no further write, is possible on the connection after the error.
fn is_end(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(_) => true,
        sqlx::Error::Database(error) => error.code().as_deref() == Some(ONLY_READS),
        _ => false,
    }
}

impl<'c> Executor<'c> for &'c mut Connection {
    type Database = Postgres;

    fn fetch_many<'e, 'q: 'e, E>(
        self,
        query: E,
    ) -> BoxStream<'e, sqlx::Result<Either<PgQueryResult, PgRow>>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        if self.needs_transaction() {
            let rows = self.run_alone(query);
            let rows = rows.map_ok(|rows| stream::iter(rows).map(Ok));
            return stream::once(rows).try_flatten().boxed();
        }
        let deadline = Instant::now() + self.answer_timeout;
        let rows = match self.scripts.pooling {
            Pooling::TransactionUnnamed => self.raw.get().fetch_many(Unnamed(query)),
            _ => self.raw.get().fetch_many(query),
        };
        let primary = &self.primary;
        stream::try_unfold((rows, &mut self.is_broken), move |state| async move {
            let (mut rows, is_broken) = state;
            let next = async { rows.next().await.transpose() };
            let row = answer(is_broken, primary, deadline, next).await?;
            Ok(row.map(|row| (row, (rows, is_broken))))
        })
        .boxed()
    }

    fn fetch_optional<'e, 'q: 'e, E>(self, query: E) -> BoxFuture<'e, sqlx::Result<Option<PgRow>>>
    where
        'c: 'e,
        E: 'q + Execute<'q, Postgres>,
    {
        if self.needs_transaction() {
            return Box::pin(async move {
                let rows = self.run_alone(query).await?;
                Ok(rows.into_iter().find_map(Either::right))
            });
        }
        let deadline = Instant::now() + self.answer_timeout;
        let row = match self.scripts.pooling {
            Pooling::TransactionUnnamed => self.raw.get().fetch_optional(Unnamed(query)),
            _ => self.raw.get().fetch_optional(query),
        };
        Box::pin(answer(&mut self.is_broken, &self.primary, deadline, row))
    }

    fn prepare_with<'e>(
        self,
        sql: SqlStr,
        parameters: &'e [PgTypeInfo],
    ) -> BoxFuture<'e, sqlx::Result<PgStatement>>
    where
        'c: 'e,
    {
        let deadline = Instant::now() + self.answer_timeout;
        let prepared = self.raw.get().prepare_with(sql, parameters);
        Box::pin(answer(
            &mut self.is_broken,
            &self.primary,
            deadline,
            prepared,
        ))
    }

    fn describe<'e>(self, sql: SqlStr) -> BoxFuture<'e, sqlx::Result<Describe<Postgres>>>
    where
        'c: 'e,
    {
        let deadline = Instant::now() + self.answer_timeout;
        let description = self.raw.get().describe(sql);
        Box::pin(answer(
            &mut self.is_broken,
            &self.primary,
            deadline,
            description,
        ))
    }
}

impl Drop for Connection {
    /// Returns a pooled connection to its pool. The pool itself would wait for the server without a limit. After the
    /// timeout here, the connection is closed and the pool may open another.
    fn drop(&mut self) {
        let is_broken = self.is_broken();
        let Raw::Pooled(connection) = &mut self.raw else {
            return;
        };
        let Some(mut connection) = connection.take() else {
            return;
        };
        match Handle::try_current() {
            Ok(runtime) if !is_broken => {
                if self.in_transaction {
                    runtime.spawn(undo(connection));
                } else {
                    runtime.spawn(timeout(RETURN_TIMEOUT, connection.return_to_pool()));
                }
            }
            _ => drop(connection.detach()),
        }
    }
}

/// Rolls back the transaction of a connection and returns it to its pool. The locks of the transaction are then
/// released.
async fn undo(mut connection: PoolConnection<Postgres>) {
    let undoing = sqlx::raw_sql("rollback").execute(&mut *connection);
    if let Ok(Ok(_)) = timeout(RETURN_TIMEOUT, undoing).await {
        let _ = timeout(RETURN_TIMEOUT, connection.return_to_pool()).await;
    } else {
        // The server rolls back the transaction of a closed connection.
        drop(connection.detach());
    }
}
