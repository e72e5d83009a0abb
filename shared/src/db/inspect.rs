//! The facts of a database that `skillet doctor` reads.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection, Row};

use super::deadline::within;
use super::hosts::DatabaseHosts;
use super::session;

/// The timeout of a question to a pooler that may have no other session to give.
const POOLER_TIMEOUT: Duration = Duration::from_secs(3);
/// Statements whose time is taken.
const PINGS: usize = 21;
/// A parameter that a server takes from anyone, and a pooler refuses or drops.
const PROBE: &str = "skillet.probe";
/// The settings that matter.
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

/// A database as a process of the service sees it.
#[derive(Debug)]
pub struct DatabaseState {
    /// Such as `17.2`.
    pub version: String,
    /// Such as 170002.
    pub version_number: i32,
    /// Whether it only reads.
    pub is_standby: bool,
    /// The settings that matter, by name.
    pub settings: BTreeMap<String, String>,
    /// What is between this process and the server.
    pub pooler: Pooler,
    /// The median time of a statement that does nothing.
    pub latency: Duration,
    /// The server's clock before this machine's.
    pub clock_skew: TimeDelta,
    /// Connections of all clients.
    pub sessions: i64,
    /// Standby servers that are connected.
    pub standbys: i64,
    /// The extensions beside PL/pgSQL.
    pub extensions: String,
    /// Whether this user can make tables.
    pub can_create: bool,
    /// Tables of others in the schema.
    pub foreign_tables: i64,
}

/// A connection pooler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooler {
    /// There is none.
    Absent,
    /// Each connection has a session of its own.
    Session,
    /// A session lasts for a transaction.
    Transaction {
        /// Whether prepared statements work; unknown if the pooler has no second session.
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

/// The latency and the difference of the clocks, of the quickest answer.
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

/// Whether a prepared statement works in another session than the one that prepared it; `None` if the connection got no
/// other session.
async fn keeps_statements(options: &PgConnectOptions) -> sqlx::Result<Option<bool>> {
    let mut first = PgConnection::connect_with(options).await?;
    let Ok(prepared_in) = run_prepared(&mut first).await else {
        // Another client has a statement of that name in the session.
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

/// Runs a named statement in a transaction. Returns the process of the server.
async fn run_prepared(connection: &mut PgConnection) -> sqlx::Result<i32> {
    sqlx::raw_sql("begin").execute(&mut *connection).await?;
    let backend = sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(&mut *connection)
        .await;
    sqlx::raw_sql("rollback").execute(connection).await?;
    backend
}
