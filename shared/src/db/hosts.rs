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
use super::deadline::within;

/// The timeout of the question whether a server is the primary.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// How long a search goes on after it has found a server that accepts writes: another may have been promoted since.
const COMPARISON: Duration = Duration::from_millis(300);
/// The pause between two searches for another primary while the last one does not answer.
const SEARCH_PAUSE: Duration = Duration::from_millis(500);
/// The parameter with which other programs say that they want the primary.
const TARGET: &str = "target_session_attrs";

/// The servers of a URL. Clones share what is known of them.
#[derive(Clone)]
pub(super) struct DatabaseHosts {
    all: Arc<[PgConnectOptions]>,
    /// The position of the last primary.
    last: Arc<watch::Sender<usize>>,
    /// Held by the one that searches because of a slow answer.
    search: Arc<Mutex<()>>,
}

/// The server that accepted writes when it was last asked.
#[derive(Clone, Debug)]
pub(super) struct Primary {
    hosts: DatabaseHosts,
    position: usize,
}

impl fmt::Debug for DatabaseHosts {
    /// Without the password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts = self.all.iter().map(PgConnectOptions::get_host);
        f.debug_list().entries(hosts).finish()
    }
}

impl DatabaseHosts {
    /// Parses a URL with one host, or with several: `postgres://user@one,two:5433/name`. `name` is that of the
    /// connections.
    pub(super) fn parse(url: &str, name: &str) -> sqlx::Result<Self> {
        let urls = split(url).map_err(|problem| sqlx::Error::Configuration(problem.into()))?;
        let all: sqlx::Result<_> = urls.iter().map(|url| connect_options(url, name)).collect();
        Ok(Self {
            all: all?,
            last: Arc::new(watch::Sender::new(0)),
            search: Arc::default(),
        })
    }

    pub(super) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// All servers, each at its position.
    pub(super) fn options(&self) -> &[PgConnectOptions] {
        &self.all
    }

    /// The primary as far as it is known. At first it is the first server.
    pub(super) fn last_primary(&self) -> Primary {
        let position = *self.last.borrow();
        self.primary_at(position)
    }

    /// Asks all servers which of them accepts writes. If several do, the one that was promoted last is the primary, or
    /// the last primary if they are one server behind several poolers. A single server is not asked.
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
        let last = *self.last.borrow();
        let compared_at = Instant::now() + COMPARISON;
        let mut newest = None;
        let mut problem = no_primary();
        loop {
            let answer = tokio::select! {
                answer = asked.next() => answer,
                () = sleep_until(compared_at), if newest.is_some() => None,
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
        let (_, _, position) = newest.ok_or(problem)?;
        Ok(self.set_primary(position))
    }

    fn set_primary(&self, position: usize) -> Primary {
        let primary = self.primary_at(position);
        let is_other = |last: &mut usize| std::mem::replace(last, position) != position;
        if self.last.send_if_modified(is_other) {
            tracing::info!(
                host = primary.options().get_host(),
                "another server accepts writes"
            );
        }
        primary
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
        *self.hosts.last.borrow() != self.position
    }

    /// Returns when another server is known to be the primary.
    pub(super) async fn replaced(&self) {
        let mut last = self.hosts.last.subscribe();
        let is_other = |last: &usize| *last != self.position;
        // The sender is in `hosts`, so this is no error.
        let _ = last.wait_for(is_other).await;
    }

    /// The same for one who waits for an answer of this server: searches for another primary if the wait is long.
    pub(super) async fn replaced_in_wait(&self) {
        if !self.hosts.are_several() {
            return pending().await;
        }
        let searching = async {
            loop {
                sleep(SEARCH_PAUSE).await;
                // Another search serves this one, too.
                if let Ok(_search) = self.hosts.search.try_lock() {
                    // Without a primary there is nothing else to wait for.
                    let _ = self.hosts.find_primary().await;
                }
            }
        };
        tokio::select! {
            () = self.replaced() => {}
            never = searching => match never {},
        }
    }
}

/// The timeline of a server that accepts writes. Each promotion begins a timeline with a greater number.
async fn timeline(options: &PgConnectOptions) -> sqlx::Result<Option<i64>> {
    let mut connection = PgConnection::connect_with(options).await?;
    let timeline = if only_reads(&mut connection).await? {
        None
    } else {
        Some(read_timeline(&mut connection).await?)
    };
    connection.close().await?;
    Ok(timeline)
}

/// The timeline; 0 if the server does not tell, as some that are compatible with Postgres.
async fn read_timeline(connection: &mut PgConnection) -> sqlx::Result<i64> {
    let name = "select left(pg_walfile_name(pg_current_wal_insert_lsn()), 8)";
    let name: String = match sqlx::raw_sql(name).fetch_one(connection).await {
        Ok(row) => row.try_get(0)?,
        Err(sqlx::Error::Database(_)) => return Ok(0),
        Err(error) => return Err(error),
    };
    Ok(i64::from_str_radix(&name, 16).unwrap_or(0))
}

/// Whether the server only reads, as a standby does, or a former primary that was set to it.
pub(super) async fn only_reads(connection: &mut PgConnection) -> sqlx::Result<bool> {
    let row = sqlx::raw_sql("select current_setting('transaction_read_only')::bool")
        .fetch_one(connection)
        .await?;
    row.try_get(0)
}

pub(super) fn no_primary() -> sqlx::Error {
    let problem = "no host of the database URL accepts writes";
    io::Error::new(io::ErrorKind::NotConnected, problem).into()
}

/// A URL for each host.
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

/// The path and the parameters without the one that asks for the primary.
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
