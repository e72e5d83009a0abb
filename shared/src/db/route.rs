//! The route of a pool: its servers, and what their connections keep.

use super::hosts::DatabaseHosts;
use super::pooling::Pooling;

/// The servers of a pool.
#[derive(Clone, Debug)]
pub(super) struct DatabaseRoute {
    pub(super) hosts: DatabaseHosts,
    pub(super) pooling: Pooling,
    pub(super) direct: Option<DatabaseHosts>,
    pub(super) polls: bool,
}

impl DatabaseRoute {
    /// The servers on which a connection keeps its session.
    pub(super) fn session_hosts(&self) -> Option<&DatabaseHosts> {
        let own = (self.pooling == Pooling::Session).then_some(&self.hosts);
        self.direct.as_ref().or(own)
    }

    /// The servers that notify; `None` if news are polled.
    pub(super) fn notifying_hosts(&self) -> Option<&DatabaseHosts> {
        self.session_hosts().filter(|_| !self.polls)
    }
}
