//! The route of a pool: its servers and its pooler.

use super::hosts::DatabaseHosts;
use super::pooling::Pooling;

/// The servers of a pool, and the pooler in front of them.
#[derive(Clone, Debug)]
pub(super) struct DatabaseRoute {
    pub(super) hosts: DatabaseHosts,
    pub(super) pooling: Pooling,
    pub(super) direct: Option<DatabaseHosts>,
    pub(super) polls: bool,
}

impl DatabaseRoute {
    /// Returns the servers on which each connection has its own session.
    pub(super) fn session_hosts(&self) -> Option<&DatabaseHosts> {
        let own = (self.pooling == Pooling::Session).then_some(&self.hosts);
        self.direct.as_ref().or(own)
    }

    /// Returns the servers that send notifications, or `None` if changes are polled.
    pub(super) fn notifying_hosts(&self) -> Option<&DatabaseHosts> {
        self.session_hosts().filter(|_| !self.polls)
    }
}
