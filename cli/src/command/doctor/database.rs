//! `skillet doctor --database`: the problems of a database and their remedies.

use std::time::Duration;

use anyhow::Context;
use serde::Serialize;
use serde_json::json;
use shared::db::inspect::{DatabaseState, Pooler, inspect};
use shared::db::{self, DatabaseSettings, Listener, Pool, Pooling};
use tokio::time::timeout;

use crate::exit::Exit;
use crate::service::{MAX_API_CONNECTIONS, MAX_WORKER_CONNECTIONS};
use crate::terminal::{print, print_json};

/// The oldest supported version, in the form of `server_version_num`.
const OLDEST_VERSION: i32 = 150_000;
/// The latency above which the check warns. Each step of a job waits for several statements.
const LONG_LATENCY: Duration = Duration::from_millis(5);
/// The difference between the clocks above which the check warns.
const CLOCK_SKEW_SECONDS: f64 = 2.0;
/// The deadline of a notification.
const NOTIFICATION_TIMEOUT: Duration = Duration::from_secs(5);
const CHANNEL: &str = "skillet_doctor";

/// A property of the database.
#[derive(Debug, Serialize)]
struct Finding {
    status: FindingStatus,
    what: String,
    /// The recommended change.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum FindingStatus {
    Good,
    /// The database works, but could be improved.
    Warning,
    /// The database does not work, or loses data.
    Bad,
}

impl Finding {
    fn good(what: impl Into<String>) -> Self {
        Self::new(FindingStatus::Good, what, None)
    }

    fn warning(what: impl Into<String>, remedy: &str) -> Self {
        Self::new(FindingStatus::Warning, what, Some(remedy.to_owned()))
    }

    fn bad(what: impl Into<String>, remedy: &str) -> Self {
        Self::new(FindingStatus::Bad, what, Some(remedy.to_owned()))
    }

    fn new(status: FindingStatus, what: impl Into<String>, remedy: Option<String>) -> Self {
        Self {
            status,
            what: what.into(),
            remedy,
        }
    }
}

/// Checks the database and prints the findings.
pub(super) async fn check(database: &DatabaseSettings, json: bool) -> anyhow::Result<Exit> {
    let state = inspect(&database.url).await;
    let state = state.context("cannot reach the database")?;
    let mut findings = vec![
        version(&state),
        pooler(&state, database),
        standbys(&state, database),
    ];
    findings.extend(settings(&state));
    findings.push(connections(&state));
    findings.push(latency(&state));
    findings.push(clock(&state));
    findings.push(rights(&state));
    findings.push(extensions(&state));
    // These findings decide whether the service can use the database at all.
    if findings[..3]
        .iter()
        .all(|it| it.status != FindingStatus::Bad)
    {
        findings.extend(in_use(database).await?);
    }
    let is_good = findings.iter().all(|it| it.status != FindingStatus::Bad);
    if json {
        print_json(&json!({"ok": is_good, "findings": findings}))?;
    } else {
        for Finding {
            status,
            what,
            remedy,
        } in &findings
        {
            let sign = match status {
                FindingStatus::Good => "✓",
                FindingStatus::Warning => "!",
                FindingStatus::Bad => "✗",
            };
            print(&format!("{sign} {what}"))?;
            if let Some(remedy) = remedy {
                print(&format!("  {remedy}"))?;
            }
        }
    }
    Ok(if is_good { Exit::Done } else { Exit::Failed })
}

fn version(state: &DatabaseState) -> Finding {
    let what = format!("PostgreSQL {}", state.version);
    if state.version_number < OLDEST_VERSION {
        Finding::bad(what, "Upgrade it: Skillet needs PostgreSQL 15 or newer.")
    } else if state.is_standby {
        let what = format!("{what}, a read-only standby");
        Finding::bad(what, "Use the URL of the primary.")
    } else {
        Finding::good(what)
    }
}

fn pooler(state: &DatabaseState, database: &DatabaseSettings) -> Finding {
    let Pooler::Transaction { keeps_statements } = state.pooler else {
        return match (state.pooler, database.pooling) {
            (Pooler::Absent, Pooling::Session) => Finding::good("no connection pooler"),
            (_, Pooling::Session) => Finding::good("connection pooler in session mode"),
            _ => Finding::warning(
                "no connection pooler in transaction mode",
                "Set SKILLET_DATABASE_POOLING=session, which needs fewer round trips.",
            ),
        };
    };
    let what = "connection pooler in transaction mode";
    let (what, wanted, remedy) = match keeps_statements {
        Some(true) => (
            format!("{what}, with prepared statements"),
            Pooling::Transaction,
            "Set SKILLET_DATABASE_POOLING=transaction, and SKILLET_DATABASE_DIRECT_URL to the server itself.",
        ),
        _ => (
            format!("{what}, without prepared statements"),
            Pooling::TransactionUnnamed,
            "Set SKILLET_DATABASE_POOLING=transaction-unnamed, and SKILLET_DATABASE_DIRECT_URL to the server itself.",
        ),
    };
    if database.pooling == wanted {
        Finding::good(what)
    } else if database.pooling == Pooling::TransactionUnnamed {
        Finding::warning(what, remedy)
    } else {
        Finding::bad(what, remedy)
    }
}

fn standbys(state: &DatabaseState, database: &DatabaseSettings) -> Finding {
    let names = state.settings.get("synchronous_standby_names");
    let is_synchronous = names.is_some_and(|names| !names.is_empty());
    match (state.standbys, is_synchronous) {
        (0, false) => Finding::good("no standby servers"),
        (0, true) => Finding::bad(
            "synchronous_standby_names is set, and no standby server is connected",
            "Start the standby server, or set synchronous_standby_names = ''. Commits wait for the standby.",
        ),
        (_, false) => Finding::warning(
            "standby servers, none of them synchronous",
            "Set synchronous_standby_names. The promotion of a standby loses commits that it has not received.",
        ),
        (_, true) if state.pooler == Pooler::Absent && !database.names_several_hosts() => {
            Finding::warning(
                "standby servers, and one host in the database URL",
                "Name all servers in the URL, such as postgres://user@one,two/name, so that processes find the one that \
                 was promoted, unless this host name moves to it.",
            )
        }
        (_, true) => Finding::good("synchronous standby servers"),
    }
}

/// The findings about wrong server settings, or one finding if all are right.
fn settings(state: &DatabaseState) -> Vec<Finding> {
    let setting = |name: &str| state.settings.get(name).map_or("", |value| value);
    let lost = "A crash of the server loses or damages data.";
    let bloat = "Tables grow without bound, and queries become slow.";
    let required = [
        ("fsync", "on", lost),
        ("full_page_writes", "on", lost),
        ("autovacuum", "on", bloat),
        ("track_counts", "on", bloat),
        (
            "default_transaction_read_only",
            "off",
            "Nothing can be written.",
        ),
        (
            "default_transaction_isolation",
            "read committed",
            "Concurrent statements fail.",
        ),
    ];
    let wrong = required
        .iter()
        .filter(|(name, value, _)| setting(name) != *value);
    let mut findings: Vec<_> = wrong
        .map(|(name, value, why)| {
            let what = format!("{name} = {}", setting(name));
            Finding::bad(what, &format!("Set {name} = {value}. {why}"))
        })
        .collect();
    if setting("synchronous_commit") == "off" {
        findings.push(Finding::bad(
            "synchronous_commit = off",
            "Set synchronous_commit = on. A crash of the server loses jobs that were accepted.",
        ));
    }
    if setting("wal_level") == "minimal" {
        findings.push(Finding::warning(
            "wal_level = minimal",
            "Set wal_level = replica for standby servers and continuous archiving.",
        ));
    }
    for name in ["idle_session_timeout", "transaction_timeout"] {
        // A setting that this version does not have is empty.
        if !matches!(setting(name), "" | "0") {
            findings.push(Finding::warning(
                format!("{name} = {}", setting(name)),
                &format!(
                    "Set {name} = 0 for the user of Skillet. It ends connections that are in use."
                ),
            ));
        }
    }
    if findings.is_empty() {
        findings.push(Finding::good("durability, autovacuum and timeouts"));
    }
    findings
}

/// Checks the connection limit of the server. A pooler limits connections by itself.
fn connections(state: &DatabaseState) -> Finding {
    let number = |name: &str| {
        let value = state
            .settings
            .get(name)
            .and_then(|value| value.parse().ok());
        value.unwrap_or(0_i64)
    };
    let free = number("max_connections") - number("superuser_reserved_connections");
    let workers = (free - i64::from(MAX_API_CONNECTIONS)) / i64::from(MAX_WORKER_CONNECTIONS);
    let what = format!(
        "max_connections = {}, {} in use",
        number("max_connections"),
        state.sessions
    );
    if state.pooler != Pooler::Absent {
        Finding::good(what)
    } else if workers < 1 {
        let remedy = format!(
            "Set max_connections = 100: an API uses up to {MAX_API_CONNECTIONS} connections and a worker up to \
             {MAX_WORKER_CONNECTIONS}."
        );
        Finding::bad(what, &remedy)
    } else {
        Finding::good(format!("{what}: enough for an API and workers: {workers}"))
    }
}

fn latency(state: &DatabaseState) -> Finding {
    let millis = state.latency.as_secs_f64() * 1e3;
    let what = format!("a statement takes {millis:.2} ms");
    if state.latency > LONG_LATENCY {
        Finding::warning(
            what,
            "Move the workers nearer to the database: each step of a job waits for several statements.",
        )
    } else {
        Finding::good(what)
    }
}

fn clock(state: &DatabaseState) -> Finding {
    let seconds = state.clock_skew.as_seconds_f64();
    let what = format!("the clocks differ by {:.3} s", seconds.abs());
    if seconds.abs() > CLOCK_SKEW_SECONDS {
        Finding::warning(
            what,
            "Synchronize the clocks of both machines, for example with chrony.",
        )
    } else {
        Finding::good(what)
    }
}

fn rights(state: &DatabaseState) -> Finding {
    if !state.can_create {
        let remedy = "Run: grant create on schema public to the user of Skillet.";
        Finding::bad("this user cannot create tables", remedy)
    } else if state.foreign_tables > 0 {
        Finding::warning(
            format!(
                "tables of other users in the schema: {}",
                state.foreign_tables
            ),
            "Run all commands of Skillet as the user who ran `skillet migrate`, in a database of its own.",
        )
    } else {
        Finding::good("this user can create tables")
    }
}

fn extensions(state: &DatabaseState) -> Finding {
    Finding::good(match &*state.extensions {
        "" => "no extensions (none required)".to_owned(),
        names => format!("extensions (none required): {names}"),
    })
}

/// Checks the schema and notifications through the same kind of connection as the service.
async fn in_use(database: &DatabaseSettings) -> anyhow::Result<[Finding; 2]> {
    let pool = database.connect("skillet doctor", 2).await?;
    let schema = match db::is_migrated(&pool).await {
        Ok(true) => Finding::good("the schema is up to date"),
        Ok(false) => Finding::warning("the schema is missing or old", "Run `skillet migrate`."),
        Err(error) => Finding::bad(
            format!("the schema cannot be read: {error}"),
            "Use the user who ran `skillet migrate`.",
        ),
    };
    let notifications = if pool.polls() {
        Finding::warning(
            "no notifications: processes poll 4 times a second",
            "Set SKILLET_DATABASE_DIRECT_URL to the URL of the server itself, and remove --database-poll.",
        )
    } else if hears(&pool).await? {
        Finding::good("notifications arrive")
    } else {
        Finding::bad(
            "notifications do not arrive",
            "Set SKILLET_DATABASE_DIRECT_URL to the URL of the server itself.",
        )
    };
    pool.close().await;
    Ok([schema, notifications])
}

/// Returns whether a notification that is sent through the pool arrives.
async fn hears(pool: &Pool) -> anyhow::Result<bool> {
    let mut listener = Listener::open(pool, &[CHANNEL]).await?;
    db::notify(pool, CHANNEL).await?;
    let heard = timeout(NOTIFICATION_TIMEOUT, listener.next()).await;
    Ok(matches!(heard, Ok(Ok(Some(_)))))
}
