//! The servers of a database: one, or a primary with its standbys.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection, Row};

use super::connect_options;
use super::connection::within;

/// The timeout of the question whether a server is the primary.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(3);
/// The parameter with which other programs say that they want the primary.
const TARGET: &str = "target_session_attrs";

/// The servers of a URL.
#[derive(Clone)]
pub(super) struct DatabaseHosts {
    all: Arc<[PgConnectOptions]>,
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
        Ok(Self { all: all? })
    }

    pub(super) fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// The server that accepts writes. A single server is not asked.
    pub(super) async fn primary(&self) -> sqlx::Result<PgConnectOptions> {
        if let [only] = &*self.all {
            return Ok(only.clone());
        }
        let asked = self.all.iter().map(async |options| {
            let answer = within(ANSWER_TIMEOUT, accepts_writes(options)).await;
            (options, answer)
        });
        let mut asked: FuturesUnordered<_> = asked.collect();
        let mut problem = no_primary();
        while let Some((options, answer)) = asked.next().await {
            match answer {
                Ok(true) => return Ok(options.clone()),
                Ok(false) => {}
                Err(error) => problem = error,
            }
        }
        Err(problem)
    }
}

async fn accepts_writes(options: &PgConnectOptions) -> sqlx::Result<bool> {
    let mut connection = PgConnection::connect_with(options).await?;
    let is_standby = is_standby(&mut connection).await?;
    connection.close().await?;
    Ok(!is_standby)
}

/// Whether the server only reads.
pub(super) async fn is_standby(connection: &mut PgConnection) -> sqlx::Result<bool> {
    let row = sqlx::raw_sql("select pg_is_in_recovery()")
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
