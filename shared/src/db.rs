//! All SQL queries, one module per table. Functions take an executor; the caller begins and commits transactions.

pub mod agent;
pub mod approval;
pub mod asset;
pub mod blob;
pub mod browser_session;
pub mod budget;
pub mod cancel;
pub mod claim;
mod columns;
mod connection;
pub mod conversation;
mod deadline;
mod dedicated_connection;
pub mod delta_day;
pub mod event;
pub mod event_week;
pub mod feed;
pub mod followed_job;
mod hosts;
pub mod idempotency;
pub mod inspect;
pub mod job;
pub mod job_token;
pub mod key;
pub mod lane;
mod listener;
pub mod log;
pub mod maintenance;
mod notifications;
mod notifier;
mod pool;
mod pooling;
pub mod preview;
pub mod provider;
pub mod queue;
pub mod queue_history;
mod route;
pub mod run;
pub mod schedule;
pub mod schedule_run;
pub mod secret;
mod session;
mod session_settings;
mod settings;
pub mod skill;
pub mod skill_packages;
pub mod submit_limit;
pub mod tenant;
mod transaction;
mod unnamed;
pub mod usage;
pub mod webhook;
pub mod webhook_delivery;
pub mod webhook_secret;
pub mod worker;

use std::time::{Duration, Instant};

use ::log::LevelFilter;
use chrono::{DateTime, Utc};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgExecutor};

pub use connection::Connection;
pub use dedicated_connection::DedicatedConnection;
pub use listener::{Listener, Notification};
pub use notifications::{NotificationReceiver, Notifications, ReceivedNotification};
pub use notifier::{DueNotifications, Notifier};
pub use pool::Pool;
pub use pooling::Pooling;
pub use session::ConnectError;
pub use settings::DatabaseSettings;
pub use sqlx::{Error, Result};
pub use transaction::Transaction;

/// The channel for new log events. The payload lists job ids, or is empty for all jobs.
pub const EVENTS_CHANNEL: &str = "skillet_events";
/// The channel for new milestones in the feed.
pub const FEED_CHANNEL: &str = "skillet_feed";
/// The channel for jobs that are ready to be claimed.
pub const WORK_CHANNEL: &str = "skillet_work";
/// The channel for webhook deliveries that are due.
pub const WEBHOOK_CHANNEL: &str = "skillet_webhook";
/// The channel for cancellation requests of running jobs. The payload is the job id.
pub const CANCEL_CHANNEL: &str = "skillet_cancel";

/// The timeout of a request for a connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(10);
/// The duration from which a statement is logged as slow.
const SLOW_STATEMENT: Duration = Duration::from_secs(1);
/// The delay before a retry when the server is unreachable.
const OUTAGE_PAUSE: Duration = Duration::from_millis(100);

/// Opens a pool of connections directly to the server. `name` appears in `pg_stat_activity`.
pub async fn connect(url: &str, name: &str, max_connections: u32) -> Result<Pool, sqlx::Error> {
    DatabaseSettings::direct(url)
        .connect(name, max_connections)
        .await
}

/// Logs slow statements at the level `info`: a busy machine has many, and an operator cannot act on a single one.
fn connect_options(url: &str, name: &str) -> sqlx::Result<PgConnectOptions> {
    let options: PgConnectOptions = url.parse()?;
    Ok(options
        .application_name(name)
        // Not needed, because floats are transferred in binary. PgBouncer rejects this startup parameter by default.
        .extra_float_digits(None)
        .log_slow_statements(LevelFilter::Info, SLOW_STATEMENT))
}

/// Retries while the server is unreachable, for example while it restarts, for up to the timeout of a request for a
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

/// Creates a database on the server at `url` if it does not exist.
pub async fn create_database(url: &str, name: &str) -> Result<(), sqlx::Error> {
    // Creation is slow on a busy machine, and an operator cannot act on it.
    let options = url.parse::<PgConnectOptions>()?.disable_statement_logging();
    let mut connection = PgConnection::connect_with(&options).await?;
    // An identifier cannot be a parameter. The name is not user input.
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

/// Returns the time of the database's clock.
pub async fn now(db: impl PgExecutor<'_>) -> sqlx::Result<DateTime<Utc>> {
    sqlx::query_scalar!(r#"select now() as "now!""#)
        .fetch_one(db)
        .await
}

/// Sends an empty statement and waits for the response.
pub async fn ping(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query("select").execute(db).await?;
    Ok(())
}

/// Sends a notification with an empty payload on a channel.
pub async fn notify(db: impl PgExecutor<'_>, channel: &str) -> sqlx::Result<()> {
    let notify = sqlx::query("select pg_notify($1, '')").bind(channel);
    notify.execute(db).await?;
    Ok(())
}

/// Applies the migrations. Several processes may call it at once. A migration has no timeout, because its duration
/// depends on the number of rows.
pub async fn migrate(pool: &Pool) -> Result<(), sqlx::migrate::MigrateError> {
    let hosts = pool.route().session_hosts().ok_or_else(|| {
        let problem = "migrations cannot run through a pooler in transaction mode: set SKILLET_DATABASE_DIRECT_URL";
        sqlx::Error::Configuration(problem.into())
    })?;
    let own = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .connect_lazy_with(hosts.find_primary().await?.options().clone());
    let migrated = sqlx::migrate!("../migrations").run(&own).await;
    own.close().await;
    migrated
}

/// Whether the schema is at least as new as the one that this program was built for.
pub async fn is_migrated(pool: &Pool) -> Result<bool, sqlx::Error> {
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

/// Whether the server or the connection failed, and not the statement. A retry may succeed.
pub fn is_outage(error: &sqlx::Error) -> bool {
    use sqlx::Error::{Database, Io, PoolClosed, PoolTimedOut, WorkerCrashed};
    match error {
        Io(_) | PoolTimedOut | PoolClosed | WorkerCrashed => true,
        Database(error) => error.code().is_some_and(|code| {
            OUTAGE_CLASSES.iter().any(|class| code.starts_with(class))
                || OUTAGE_CODES.contains(&&*code)
        }),
        _ => false,
    }
}

/// SQLSTATE classes: connection exceptions; rollbacks such as deadlocks; insufficient resources; operator intervention
/// such as timeouts, shutdown and startup; system errors.
const OUTAGE_CLASSES: [&str; 5] = ["08", "40", "53", "57", "58"];
/// SQLSTATE codes: a read-only server; an idle transaction timeout; a lock that is not available.
const OUTAGE_CODES: [&str; 3] = ["25006", "25P03", "55P03"];

fn is_undefined_table(error: &sqlx::Error) -> bool {
    error
        .as_database_error()
        .and_then(|error| error.code())
        .is_some_and(|code| code == "42P01")
}

/// JSON text that is stored unchanged. `jsonb` would change the order of its keys, and cannot store NUL.
#[derive(sqlx::Type)]
#[sqlx(type_name = "json")]
struct JsonText(String);

impl JsonText {
    /// Serializes a value whose keys are strings.
    fn of(value: &impl serde::Serialize) -> Self {
        Self(serde_json::to_string(value).expect("its keys are strings"))
    }
}
