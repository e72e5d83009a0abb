//! Database settings: direct connections, a connection pooler, or standby servers.

use super::hosts::DatabaseHosts;
use super::pool::Pool;
use super::pooling::Pooling;
use super::route::DatabaseRoute;
use super::session::{self, ConnectError};
use super::through_outage;

/// The settings for connections to the database.
#[derive(Clone)]
pub struct DatabaseSettings {
    /// The URL, which may name several hosts.
    pub url: String,
    /// The mode of the connection pooler.
    pub pooling: Pooling,
    /// The URL that bypasses the pooler, for notifications and migrations.
    pub direct_url: Option<String>,
    /// Whether to poll for changes instead of using notifications.
    pub polls: bool,
}

impl DatabaseSettings {
    /// Returns settings for direct connections to the server.
    pub fn direct(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            pooling: Pooling::Session,
            direct_url: None,
            polls: false,
        }
    }

    /// Whether the URL names several servers.
    pub fn names_several_hosts(&self) -> bool {
        DatabaseHosts::parse(&self.url, "skillet").is_ok_and(|hosts| hosts.are_several())
    }

    /// Opens a pool. `name` appears in `pg_stat_activity`. Waits for a server that is restarting.
    pub async fn connect(&self, name: &str, max_connections: u32) -> sqlx::Result<Pool> {
        let direct = self.direct_url.as_deref();
        let route = DatabaseRoute {
            hosts: DatabaseHosts::parse(&self.url, name)?,
            pooling: self.pooling,
            direct: direct
                .map(|url| DatabaseHosts::parse(url, name))
                .transpose()?,
            polls: self.polls,
        };
        through_outage(|| Pool::open(route.clone(), max_connections)).await
    }

    /// Checks that the database can be used. Waits for a server that is restarting.
    pub async fn check(&self) -> Result<(), ConnectError> {
        session::check(&self.url, self.pooling != Pooling::Session).await?;
        match &self.direct_url {
            Some(url) => session::check(url, false).await,
            None => Ok(()),
        }
    }
}
