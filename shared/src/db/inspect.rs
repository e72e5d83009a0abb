//! Database checks for `skillet doctor`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection, Row};

use super::deadline::within;
use super::hosts::DatabaseHosts;
use super::session;

/// The timeout of queries through a pooler that may have no second session.
const POOLER_TIMEOUT: Duration = Duration::from_secs(3);
/// The number of statements in a latency measurement.
const PINGS: usize = 21;
/// A parameter that every server accepts and every pooler rejects or drops.
const PROBE: &str = "skillet.probe";
/// The settings that affect the service.
const SETTINGS: &str = "select name, current_setting(name) as value from pg_settings
                        where name in ('autovacuum', 'default_transaction_isolation', 'default_transaction_read_only',
                            'fsync', 'full_page_writes', 'idle_session_timeout', 'max_connections',
                            'superuser_reserved_connections', 'synchronous_commit', 'synchronous_standby_names',
                            'track_counts', 'transaction_timeout', 'wal_level')";
const STATE: &str = "select current_setting('server_version') as version,
                            current_setting('server_version_num')::int as number,
                            (select count(*) from pg_stat_activity where backend_type = 'client backend') as sessions,
                            (select count(*) from pg_stat_replication) as standbys,
                            pg_is_in_recovery() as is_standby,
                            (select coalesce(string_agg(extname, ', ' order by extname), '') from pg_extension
                             where extname <> 'plpgsql') as extensions,
                            has_schema_privilege(current_schema(), 'create') as creates,
                            (select count(*) from pg_class
                             where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
                               and not pg_has_role(relowner, 'usage')) as foreign_tables";

/// The state of a database from the view of a process of the service.
#[derive(Debug)]
pub struct DatabaseState {
    /// The version, such as `17.2`.
    pub version: String,
    /// The version number, such as 170002.
    pub version_number: i32,
    /// Whether the server is a standby.
    pub is_standby: bool,
    /// The settings that affect the service, by name.
    pub settings: BTreeMap<String, String>,
    /// The pooler between this process and the server.
    pub pooler: Pooler,
    /// The median latency of a trivial statement.
    pub latency: Duration,
    /// The difference between the server's clock and this machine's. Positive if the server is ahead.
    pub clock_skew: TimeDelta,
    /// The number of connections of all clients.
    pub sessions: i64,
    /// The number of connected standby servers.
    pub standbys: i64,
    /// The installed extensions except PL/pgSQL.
    pub extensions: String,
    /// Whether this user can create tables.
    pub can_create: bool,
    /// The number of tables in the schema that this user does not own.
    pub foreign_tables: i64,
}

/// A connection pooler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooler {
    /// No pooler.
    Absent,
    /// Each connection has its own session.
    Session,
    /// A connection has a session only during a transaction.
    Transaction {
        /// Whether prepared statements work, or `None` if the pooler has no second session to test this.
        keeps_statements: Option<bool>,
    },
}

/// Reads the state of the database at a URL.
pub async fn inspect(url: &str) -> sqlx::Result<DatabaseState> {
    let hosts = DatabaseHosts::parse(url, "skillet doctor")?;
    let primary = hosts.find_primary().await?;
    let options = primary.options();
    let pooler = find_pooler(options).await?;
    let mut connection = PgConnection::connect_with(options).await?;
    let mut settings = BTreeMap::new();
    for row in sqlx::raw_sql(SETTINGS).fetch_all(&mut connection).await? {
        settings.insert(row.try_get("name")?, row.try_get("value")?);
    }
    let state = sqlx::raw_sql(STATE).fetch_one(&mut connection).await?;
    let (latency, clock_skew) = measure(&mut connection).await?;
    connection.close().await?;
    Ok(DatabaseState {
        version: state.try_get("version")?,
        version_number: state.try_get("number")?,
        is_standby: state.try_get("is_standby")?,
        settings,
        pooler,
        latency,
        clock_skew,
        sessions: state.try_get("sessions")?,
        standbys: state.try_get("standbys")?,
        extensions: state.try_get("extensions")?,
        can_create: state.try_get("creates")?,
        foreign_tables: state.try_get("foreign_tables")?,
    })
}

/// Measures the median latency, and the clock skew by the fastest response.
async fn measure(connection: &mut PgConnection) -> sqlx::Result<(Duration, TimeDelta)> {
    let mut answers = Vec::with_capacity(PINGS);
    for _ in 0..PINGS {
        let (begun_at, asked_at) = (Utc::now(), Instant::now());
        let row = sqlx::raw_sql("select clock_timestamp()")
            .fetch_one(&mut *connection)
            .await?;
        let took = asked_at.elapsed();
        let theirs: DateTime<Utc> = row.try_get(0)?;
        let ours = begun_at + took / 2;
        answers.push((took, theirs - ours));
    }
    answers.sort();
    Ok((answers[PINGS / 2].0, answers[0].1))
}

async fn find_pooler(options: &PgConnectOptions) -> sqlx::Result<Pooler> {
    if session::has_shared_sessions(options).await? {
        let keeping = within(POOLER_TIMEOUT, keeps_statements(options)).await;
        return Ok(Pooler::Transaction {
            keeps_statements: keeping.ok().flatten(),
        });
    }
    let probing = options.clone().options([(PROBE, "1")]);
    let mut connection = match PgConnection::connect_with(&probing).await {
        Ok(connection) => connection,
        Err(error) if session::refused_parameter(&error).is_some() => return Ok(Pooler::Session),
        Err(error) => return Err(error),
    };
    let arrived = sqlx::raw_sql("select current_setting('skillet.probe', true)")
        .fetch_one(&mut connection)
        .await?;
    let arrived: Option<String> = arrived.try_get(0)?;
    connection.close().await?;
    Ok(match arrived.as_deref() {
        Some("1") => Pooler::Absent,
        _ => Pooler::Session,
    })
}

/// Whether a prepared statement works in a session other than the one that prepared it. Returns `None` if the
/// connection did not get another session.
async fn keeps_statements(options: &PgConnectOptions) -> sqlx::Result<Option<bool>> {
    let mut first = PgConnection::connect_with(options).await?;
    let Ok(prepared_in) = run_prepared(&mut first).await else {
        // Another client has a statement with the same name in the session.
        return Ok(Some(false));
    };
    let mut holder = PgConnection::connect_with(options).await?;
    sqlx::raw_sql("begin").execute(&mut holder).await?;
    if session::backend_of(&mut holder).await? != prepared_in {
        return Ok(None);
    }
    let again = run_prepared(&mut first).await;
    sqlx::raw_sql("rollback").execute(&mut holder).await?;
    Ok(Some(again.is_ok()))
}

/// Runs a prepared statement in a transaction. Returns the process id of the server session.
async fn run_prepared(connection: &mut PgConnection) -> sqlx::Result<i32> {
    sqlx::raw_sql("begin").execute(&mut *connection).await?;
    let backend = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut *connection)
        .await;
    sqlx::raw_sql("rollback").execute(connection).await?;
    backend
}
