//! How processes reach the database: directly, through a connection pooler, or with standby servers.

use std::str::FromStr;

use super::hosts::Hosts;
use super::pool::Pool;
use super::session::{self, ConnectError};
use super::through_outage;

/// What a connection keeps from one transaction to the next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pooling {
    /// A session of the server: its settings, prepared statements and notifications.
    #[default]
    Session,
    /// Prepared statements only: a pooler in transaction mode that knows them, such as PgBouncer 1.21 or newer.
    Transaction,
    /// Nothing: a pooler in transaction mode that mixes prepared statements up, such as PgBouncer before 1.21.
    TransactionUnnamed,
}

impl FromStr for Pooling {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "session" => Ok(Self::Session),
            "transaction" => Ok(Self::Transaction),
            "transaction-unnamed" => Ok(Self::TransactionUnnamed),
            _ => Err("expected `session`, `transaction` or `transaction-unnamed`"),
        }
    }
}

/// The database and the way to it.
#[derive(Clone)]
pub struct DatabaseSettings {
    /// The URL, which may name several hosts.
    pub url: String,
    /// Whether a pooler in transaction mode is there.
    pub pooling: Pooling,
    /// The URL without the pooler, for notifications and migrations.
    pub direct_url: Option<String>,
    /// Whether to look for news periodically, without notifications.
    pub polls: bool,
}

/// The servers of a pool.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) hosts: Hosts,
    pub(super) pooling: Pooling,
    direct: Option<Hosts>,
    polls: bool,
}

impl DatabaseSettings {
    /// The server itself.
    pub fn direct(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            pooling: Pooling::Session,
            direct_url: None,
            polls: false,
        }
    }

    /// Opens a pool. `name` shows in `pg_stat_activity`. Waits for a server that is restarting.
    pub async fn connect(&self, name: &str, max_connections: u32) -> sqlx::Result<Pool> {
        let direct = self.direct_url.as_deref();
        let route = Route {
            hosts: Hosts::parse(&self.url, name)?,
            pooling: self.pooling,
            direct: direct.map(|url| Hosts::parse(url, name)).transpose()?,
            polls: self.polls,
        };
        through_outage(|| Pool::open(route.clone(), max_connections)).await
    }

    /// Checks that the database can be used. A server that is just restarting is waited for.
    pub async fn check(&self) -> Result<(), ConnectError> {
        session::check(&self.url, self.pooling != Pooling::Session).await?;
        match &self.direct_url {
            Some(url) => session::check(url, false).await,
            None => Ok(()),
        }
    }
}

impl Route {
    /// The servers on which a connection keeps its session.
    pub(super) fn session_hosts(&self) -> Option<&Hosts> {
        let own = (self.pooling == Pooling::Session).then_some(&self.hosts);
        self.direct.as_ref().or(own)
    }

    /// The servers that notify; `None` if news are polled.
    pub(super) fn notifying_hosts(&self) -> Option<&Hosts> {
        self.session_hosts().filter(|_| !self.polls)
    }
}
