//! All SQL. One module a table; functions take an executor, and their caller opens and commits.

pub mod agent;
pub mod approval;
pub mod asset;
pub mod budget;
pub mod cancel;
pub mod chore;
pub mod claim;
pub mod conversation;
pub mod depth;
pub mod event;
pub mod event_week;
pub mod idempotency;
pub mod job;
pub mod key;
pub mod lane;
pub mod log;
pub mod queue;
pub mod run;
pub mod secret;
pub mod skill;
mod steady;
pub mod submit_limit;
pub mod tenant;
pub mod worker;

use std::time::{Duration, Instant};

use ::log::LevelFilter;
use chrono::{DateTime, Utc};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions, Connection, PgConnection, PgExecutor, PgPool};

pub use steady::Steady;

/// Says that a log has grown; the payload lists job ids, or is empty for "look at all".
pub const EVENTS_CHANNEL: &str = "skillet_events";
/// Says that there is a job to claim.
pub const WORK_CHANNEL: &str = "skillet_work";
/// Says that a running job is to be cancelled; the payload is its id.
pub const CANCEL_CHANNEL: &str = "skillet_cancel";

/// How long a request waits for a connection before it fails.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// A statement that takes longer is logged.
const SLOW_STATEMENT: Duration = Duration::from_secs(1);
/// A connection that was used no longer ago than this is taken to be alive still. A server does not restart so quickly,
/// and to ask it each time costs as much as a small statement.
const TRUSTED_FOR: Duration = Duration::from_millis(100);
/// The pause before what failed for want of a server is tried again.
const OUTAGE_PAUSE: Duration = Duration::from_millis(100);

/// Opens a pool. `name` shows in `pg_stat_activity`. A server that is just restarting is waited for.
pub async fn connect(url: &str, name: &str, max_connections: u32) -> Result<PgPool, sqlx::Error> {
    let options = options(url)?.application_name(name);
    let pool = PgPoolOptions::new()
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
        // A statement of many parts looks dear to the planner and takes a millisecond: compiling it first takes longer.
        .after_connect(|connection, _| {
            Box::pin(async move {
                sqlx::query("set jit = off").execute(connection).await?;
                Ok(())
            })
        });
    through_outage(|| pool.clone().connect_with(options.clone())).await
}

/// The options of a connection. A slow statement or a wait for a connection is no warning: a loaded machine has many,
/// and nobody can act on one. They show at the level `info`.
fn options(url: &str) -> sqlx::Result<PgConnectOptions> {
    let options: PgConnectOptions = url.parse()?;
    Ok(options.log_slow_statements(LevelFilter::Info, SLOW_STATEMENT))
}

/// Opens a connection beside all pools.
pub async fn connect_alone(url: &str) -> sqlx::Result<PgConnection> {
    options(url)?.connect().await
}

/// Tries again while the server is out of reach, which it is while it restarts, for as long as a request waits for a
/// connection.
pub async fn through_outage<T, F>(work: impl Fn() -> F) -> sqlx::Result<T>
where
    F: Future<Output = sqlx::Result<T>>,
{
    let begun_at = Instant::now();
    loop {
        match work().await {
            Err(error) if is_outage(&error) && begun_at.elapsed() < ACQUIRE_TIMEOUT => {
                tokio::time::sleep(OUTAGE_PAUSE).await;
            }
            done => return done,
        }
    }
}

/// Makes a database on the server of `url` if it is missing.
pub async fn create_database(url: &str, name: &str) -> Result<(), sqlx::Error> {
    let mut connection = connect_alone(url).await?;
    // An identifier cannot be a parameter; this one is ours.
    let created = sqlx::query(sqlx::AssertSqlSafe(format!("create database \"{name}\"")))
        .execute(&mut connection)
        .await;
    connection.close().await?;
    match created {
        Err(error)
            if error
                .as_database_error()
                .is_some_and(|error| error.code().as_deref() == Some("42P04")) =>
        {
            Ok(())
        }
        other => other.map(drop),
    }
}

/// The database's clock.
pub async fn now(db: impl PgExecutor<'_>) -> sqlx::Result<DateTime<Utc>> {
    sqlx::query_scalar!(r#"select now() as "now!""#)
        .fetch_one(db)
        .await
}

/// Brings the schema up to date. Several processes may call it at once.
pub async fn migrate(pool: &PgPool) -> Result<(), sqlx::migrate::MigrateError> {
    sqlx::migrate!("../migrations").run(pool).await
}

/// Whether the schema is at least the one that this program was built for.
pub async fn is_migrated(pool: &PgPool) -> Result<bool, sqlx::Error> {
    let newest = sqlx::migrate!("../migrations")
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0);
    let applied = sqlx::query_scalar::<_, Option<i64>>(
        "select max(version) from _sqlx_migrations where success",
    )
    .fetch_one(pool)
    .await;
    match applied {
        Ok(version) => Ok(version.is_some_and(|version| version >= newest)),
        Err(error) if is_undefined_table(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether it was the server or the way to it that failed, and not the statement: the same may work later.
pub fn is_outage(error: &sqlx::Error) -> bool {
    use sqlx::Error::{Database, Io, PoolClosed, PoolTimedOut, WorkerCrashed};
    match error {
        Io(_) | PoolTimedOut | PoolClosed | WorkerCrashed => true,
        // A connection exception; told to end; crashed; not ready yet; full.
        Database(error) => error.code().is_some_and(|code| {
            code.starts_with("08") || ["57P01", "57P02", "57P03", "53300"].contains(&&*code)
        }),
        _ => false,
    }
}

fn is_undefined_table(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(|error| error.code())
        .is_some_and(|code| code == "42P01")
}

/// JSON as text, stored as it stands: on its way through `jsonb` it would lose its order, and could have no NUL.
#[derive(sqlx::Type)]
#[sqlx(type_name = "json")]
struct JsonText(String);

impl JsonText {
    /// What has only strings as keys.
    fn of(value: &impl serde::Serialize) -> Self {
        Self(serde_json::to_string(value).expect("its keys are strings"))
    }
}
