//! The servers of a database: one, or a primary with its standbys.

use std::fmt;
use std::future::pending;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection, Row};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, sleep_until};

use super::connect_options;
use super::deadline::{no_answer, within};

/// The timeout of the check whether a server is the primary.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// The time that a search continues after it found a server that accepts writes. Another may have been promoted since.
const COMPARISON: Duration = Duration::from_millis(300);
/// The delay between searches for another primary while the last one does not respond.
const SEARCH_PAUSE: Duration = Duration::from_millis(500);
/// The URL parameter with which other programs request the primary.
const TARGET: &str = "target_session_attrs";

/// The servers of a database URL. Clones share the known state.
#[derive(Clone)]
pub(super) struct DatabaseHosts {
    all: Arc<[PgConnectOptions]>,
    last: Arc<watch::Sender<LastPrimary>>,
    /// Held by the task that searches because of a slow response.
    search: Arc<Mutex<()>>,
}

/// The last known primary.
#[derive(Default)]
struct LastPrimary {
    position: usize,
    timeline: Timeline,
}

/// The timeline of a server. Each promotion begins a timeline with a greater number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Timeline {
    /// The number, or 0 if the server does not report it, like some Postgres-compatible servers.
    number: i64,
    /// The identifier of the cluster, which the primary and its standbys share, or 0 if the server does not report it.
    cluster: i64,
}

impl Timeline {
    /// Whether a server with this timeline was replaced by a promotion to the other timeline.
    fn is_before(self, other: Self) -> bool {
        self.cluster == other.cluster && self.number < other.number
    }
}

/// The server that accepted writes at the last check.
#[derive(Clone, Debug)]
pub(super) struct Primary {
    hosts: DatabaseHosts,
    position: usize,
}

impl fmt::Debug for DatabaseHosts {
    /// Lists the hosts without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.all.iter().map(PgConnectOptions::get_host);
        f.debug_list().entries(hosts).finish()
    }
}

impl DatabaseHosts {
    /// Parses a URL with one or several hosts: `postgres://user@one,two:5433/name`. `name` is the application name of
    /// the connections.
    pub(super) fn parse(url: &str, name: &str) -> sqlx::Result<Self> {
        let urls = split(url).map_err(|problem| sqlx::Error::Configuration(problem.into()))?;
        let all: sqlx::Result<_> = urls.iter().map(|url| connect_options(url, name)).collect();
        Ok(Self {
            all: all?,
            last: Arc::default(),
            search: Arc::default(),
        })
    }

    pub(super) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Returns the options of all servers by position.
    pub(super) fn options(&self) -> &[PgConnectOptions] {
        &self.all
    }

    /// Returns the last known primary. Initially it is the first server.
    pub(super) fn last_primary(&self) -> Primary {
        let position = self.last.borrow().position;
        self.primary_at(position)
    }

    /// Checks which servers accept writes and returns the primary. If several do, the primary is the one that was
    /// promoted last, or the last known primary if they are one server behind several poolers. A server that was
    /// replaced by a promotion never becomes the primary again, because it lacks later writes. A single server is not
    /// checked.
    pub(super) async fn find_primary(&self) -> sqlx::Result<Primary> {
        if !self.are_several() {
            return Ok(self.last_primary());
        }
        let asked = self
            .all
            .iter()
            .enumerate()
            .map(async |(position, options)| {
                (position, within(ANSWER_TIMEOUT, timeline(options)).await)
            });
        let mut asked: FuturesUnordered<_> = asked.collect();
        let (last, known) = {
            let last = self.last.borrow();
            (last.position, last.timeline)
        };
        let compared_at = Instant::now() + COMPARISON;
        let mut newest: Option<(Timeline, bool, usize)> = None;
        let mut problem = no_primary();
        loop {
            let answer = tokio::select! {
                answer = asked.next() => answer,
                () = sleep_until(compared_at), if newest.is_some_and(|it| !it.0.is_before(known)) => None,
            };
            match answer {
                Some((position, Ok(Some(timeline)))) => {
                    newest = newest.max(Some((timeline, position == last, position)));
                }
                Some((_, Ok(None))) => {}
                Some((_, Err(error))) => problem = error,
                None => break,
            }
        }
        let (timeline, _, position) = newest.ok_or(problem)?;
        self.set_primary(position, timeline)
    }

    fn set_primary(&self, position: usize, timeline: Timeline) -> sqlx::Result<Primary> {
        let primary = self.primary_at(position);
        let mut is_replaced = false;
        let is_other = self.last.send_if_modified(|last| {
            // A concurrent search may have found a later primary.
            is_replaced = timeline.is_before(last.timeline);
            if is_replaced {
                return false;
            }
            let before = std::mem::replace(last, LastPrimary { position, timeline });
            before.position != position
        });
        let host = primary.options().get_host();
        if is_replaced {
            let problem =
                format!("{host} accepts writes, but another server was promoted after it");
            return Err(not_connected(problem));
        }
        if is_other {
            tracing::info!(host, "another server accepts writes");
        }
        Ok(primary)
    }

    fn primary_at(&self, position: usize) -> Primary {
        let hosts = self.clone();
        Primary { hosts, position }
    }
}

impl Primary {
    pub(super) fn position(&self) -> usize {
        self.position
    }

    pub(super) fn options(&self) -> &PgConnectOptions {
        &self.hosts.all[self.position]
    }

    /// Whether another server is known to be the primary.
    pub(super) fn is_replaced(&self) -> bool {
        self.hosts.last.borrow().position != self.position
    }

    /// Waits until another server is known to be the primary.
    pub(super) async fn replaced(&self) {
        let mut last = self.hosts.last.subscribe();
        let is_other = |last: &LastPrimary| last.position != self.position;
        // The sender is in `hosts`, so this does not fail.
        let _ = last.wait_for(is_other).await;
    }

    /// Waits like [`Self::replaced`], during a wait for a response of this server. If the wait is long, searches for
    /// another primary.
    pub(super) async fn replaced_in_wait(&self) {
        if !self.hosts.are_several() {
            return pending().await;
        }
        let searching = async {
            loop {
                sleep(SEARCH_PAUSE).await;
                // A concurrent search serves this wait, too.
                if let Ok(_search) = self.hosts.search.try_lock() {
                    // If the search fails, there is no other server to use, so the wait continues.
                    let _ = self.hosts.find_primary().await;
                }
            }
        };
        tokio::select! {
            () = self.replaced() => {}
            never = searching => match never {},
        }
    }

    /// Returns the output of the future, or an outage if another server becomes the primary first.
    pub(super) async fn unless_replaced<T>(
        &self,
        waiting: impl Future<Output = sqlx::Result<T>>,
    ) -> sqlx::Result<T> {
        tokio::select! {
            output = waiting => output,
            () = self.replaced_in_wait() => Err(no_answer()),
        }
    }
}

/// Returns the timeline of a server that accepts writes, or `None` if the server is read-only.
async fn timeline(options: &PgConnectOptions) -> sqlx::Result<Option<Timeline>> {
    let mut connection = PgConnection::connect_with(options).await?;
    let timeline = if only_reads(&mut connection).await? {
        None
    } else {
        let number = "select ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::bigint";
        let cluster = "select system_identifier from pg_control_system()";
        Some(Timeline {
            number: tell(&mut connection, number).await?,
            cluster: tell(&mut connection, cluster).await?,
        })
    };
    connection.close().await?;
    Ok(timeline)
}

/// Queries a number from the server. Returns 0 if the server refuses.
async fn tell(connection: &mut PgConnection, query: &'static str) -> sqlx::Result<i64> {
    match sqlx::raw_sql(query).fetch_one(connection).await {
        Ok(row) => row.try_get(0),
        Err(sqlx::Error::Database(_)) => Ok(0),
        Err(error) => Err(error),
    }
}

/// Whether the server is read-only, like a standby or a former primary with that setting.
pub(super) async fn only_reads(connection: &mut PgConnection) -> sqlx::Result<bool> {
    let row = sqlx::raw_sql("select current_setting('transaction_read_only')::bool")
        .fetch_one(connection)
        .await?;
    row.try_get(0)
}

pub(super) fn no_primary() -> sqlx::Error {
    not_connected("no host of the database URL accepts writes".to_owned())
}

fn not_connected(problem: String) -> sqlx::Error {
    io::Error::new(io::ErrorKind::NotConnected, problem).into()
}

/// Splits a URL into one URL per host.
fn split(url: &str) -> Result<Vec<String>, String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(vec![url.to_owned()]);
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (user, hosts) = match authority.rsplit_once('@') {
        Some((user, hosts)) => (format!("{user}@"), hosts),
        None => (String::new(), authority),
    };
    let rest = without_target(rest)?;
    let urls = hosts.split(',');
    Ok(urls
        .map(|host| format!("{scheme}://{user}{host}{rest}"))
        .collect())
}

/// Returns the path and the parameters without `target_session_attrs`. Fails if it requests anything but the primary.
fn without_target(rest: &str) -> Result<String, String> {
    let Some((path, query)) = rest.split_once('?') else {
        return Ok(rest.to_owned());
    };
    let mut kept = Vec::new();
    for parameter in query.split('&') {
        match parameter.split_once('=') {
            Some((TARGET, "read-write" | "primary")) => {}
            Some((TARGET, other)) => {
                return Err(format!(
                    "the database URL says {TARGET}={other}; Skillet needs `read-write`, which is the default"
                ));
            }
            _ => kept.push(parameter),
        }
    }
    Ok(if kept.is_empty() {
        path.to_owned()
    } else {
        format!("{path}?{}", kept.join("&"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_replaced_by_a_promotion_is_not_the_primary_again() {
        let hosts = DatabaseHosts::parse("postgres://one,two/db", "test").unwrap();
        let timeline = |cluster, number| Timeline { number, cluster };
        let set = |position, timeline| {
            let primary = hosts.set_primary(position, timeline);
            primary.map(|it| it.position()).map_err(|it| it.to_string())
        };
        assert_eq!(set(0, timeline(7, 1)), Ok(0));
        assert_eq!(set(1, timeline(7, 2)), Ok(1));
        let refused = set(0, timeline(7, 1)).unwrap_err();
        assert!(refused.contains("one accepts writes, but"), "{refused}");
        assert_eq!(hosts.last_primary().position(), 1);
        // A second promotion, and a new cluster that replaces the old one.
        assert_eq!(set(0, timeline(7, 3)), Ok(0));
        assert_eq!(set(1, timeline(8, 1)), Ok(1));
    }

    #[test]
    fn a_url_with_several_hosts_is_one_url_for_each() {
        let cases = [
            ("postgres://a/db", vec!["postgres://a/db"]),
            (
                "postgres://u:p%40@a:1,b,[::1]:2/db?target_session_attrs=read-write&sslmode=require",
                vec![
                    "postgres://u:p%40@a:1/db?sslmode=require",
                    "postgres://u:p%40@b/db?sslmode=require",
                    "postgres://u:p%40@[::1]:2/db?sslmode=require",
                ],
            ),
            (
                "postgres://a,b?target_session_attrs=primary",
                vec!["postgres://a", "postgres://b"],
            ),
            (
                "postgres://postgres@localhost/x?host=/run/one",
                vec!["postgres://postgres@localhost/x?host=/run/one"],
            ),
        ];
        for (url, expected) in cases {
            assert_eq!(split(url).unwrap(), expected, "{url}");
        }
        let standby = split("postgres://a,b/x?target_session_attrs=standby");
        assert!(standby.unwrap_err().contains("=standby"));
    }
}
