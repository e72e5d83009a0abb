//! `/v1`: one module for each path segment.

pub(crate) mod agents;
pub(crate) mod approvals;
pub(crate) mod assets;
pub(crate) mod conversations;
pub(crate) mod events;
pub(crate) mod jobs;
pub(crate) mod keys;
pub(crate) mod me;
pub(crate) mod models;
pub(crate) mod queue;
pub(crate) mod schedules;
pub(crate) mod secrets;
pub(crate) mod session;
pub(crate) mod skills;
pub(crate) mod tenants;
pub(crate) mod usage;
pub(crate) mod webhooks;
pub(crate) mod workers;
