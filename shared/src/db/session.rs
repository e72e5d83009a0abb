//! The check that the database is reachable and that each connection has its own session.

use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection, Row};

use super::deadline::within;
use super::hosts::DatabaseHosts;
use super::{ACQUIRE_TIMEOUT, through_outage};

/// The number of connections that are compared with the first.
const OTHERS: usize = 2;

/// The reason why the database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The pooler shares sessions, but prepared statements, settings and notifications belong to a session.
    #[error(
        "the database URL leads to a connection pooler in transaction mode, in which statements of several processes \
         get mixed up; set SKILLET_DATABASE_POOLING to `transaction` (PgBouncer 1.21 or newer) or \
         `transaction-unnamed` (older), use session mode (PgBouncer: `pool_mode = session`), or the URL of the \
         database server itself"
    )]
    SharedSessions,
    /// PgBouncer rejects startup parameters that it does not support.
    #[error(
        "the connection pooler refuses the parameter `{0}`; set `ignore_startup_parameters = {0}` in the \
         configuration of PgBouncer, or use the URL of the database server itself"
    )]
    RefusedParameter(String),
    /// Any other error.
    #[error("cannot reach the database")]
    Unreachable(#[source] sqlx::Error),
}

/// Checks that the database can be used. `may_be_shared` allows shared sessions.
pub(super) async fn check(url: &str, may_be_shared: bool) -> Result<(), ConnectError> {
    let hosts = DatabaseHosts::parse(url, "skillet").map_err(ConnectError::Unreachable)?;
    let checked = through_outage(async || {
        let checking = async {
            let primary = hosts.find_primary().await?;
            let checking = check_sessions(primary.options(), may_be_shared);
            primary.unless_replaced(Box::pin(checking)).await
        };
        match within(ACQUIRE_TIMEOUT, checking).await {
            Ok(false) => Ok(Ok(())),
            Ok(true) => Ok(Err(ConnectError::SharedSessions)),
            Err(error) => match refused_parameter(&error) {
                Some(name) => Ok(Err(ConnectError::RefusedParameter(name))),
                None => Err(error),
            },
        }
    });
    checked.await.map_err(ConnectError::Unreachable)?
}

/// Whether connections share sessions although they must not. Fails if the server is unreachable.
async fn check_sessions(options: &PgConnectOptions, may_be_shared: bool) -> sqlx::Result<bool> {
    if may_be_shared {
        PgConnection::connect_with(options).await?.close().await?;
        return Ok(false);
    }
    has_shared_sessions(options).await
}

/// Whether a statement may run in another session than the previous one on the same connection.
///
/// A pooler in transaction mode assigns a session to a connection only during a transaction. Therefore another
/// connection with an open transaction either gets the session of the first connection, or the first connection gets a
/// new one.
pub(super) async fn has_shared_sessions(options: &PgConnectOptions) -> sqlx::Result<bool> {
    let mut first = PgConnection::connect_with(options).await?;
    let backend = backend_of(&mut first).await?;
    let mut others = Vec::with_capacity(OTHERS);
    let mut is_shared = false;
    while !is_shared && others.len() < OTHERS {
        let mut other = PgConnection::connect_with(options).await?;
        sqlx::raw_sql("begin").execute(&mut other).await?;
        is_shared =
            backend_of(&mut other).await? == backend || backend_of(&mut first).await? != backend;
        others.push(other);
    }
    for connection in others.into_iter().chain([first]) {
        connection.close().await?;
    }
    Ok(is_shared)
}

/// Returns the process id of the server session that runs the statements of this connection. Does not use a prepared
/// statement, because its name could be taken in a shared session.
pub(super) async fn backend_of(connection: &mut PgConnection) -> sqlx::Result<i32> {
    let row = sqlx::raw_sql("select pg_backend_pid()")
        .fetch_one(connection)
        .await?;
    row.try_get(0)
}

/// Returns the name of the startup parameter that a pooler rejected.
pub(super) fn refused_parameter(error: &sqlx::Error) -> Option<String> {
    let message = error.as_database_error()?.message();
    let rest = message.strip_prefix("unsupported startup parameter")?;
    let name = rest.trim_start_matches(" in options").strip_prefix(": ")?;
    Some(name.to_owned())
}
