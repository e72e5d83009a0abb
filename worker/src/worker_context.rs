//! The context of a worker: everything that its attempts share.

use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use reqwest::Client;
use shared::asset::AssetStore;
use shared::db::Pool;
use shared::provider::Providers;
use shared::secret::MasterKeys;
use shared::skill::Catalog;
use tokio::sync::Semaphore;
use worker_egress::net::{FetchClient, WebClients};
use worker_sandbox::Sandbox;
use worker_workspace::WorkspaceRoot;

use crate::log::LogWriter;
use crate::telemetry::Meters;
use crate::toolbox::ToolDefinitions;

/// Everything that the attempts of a worker share.
pub(crate) struct WorkerContext {
    pub(crate) pool: Pool,
    /// How long a worker may be silent before others take over its jobs.
    pub(crate) silence: Duration,
    pub(crate) assets: AssetStore,
    pub(crate) catalog: Catalog,
    pub(crate) providers: Providers,
    /// Open secrets; without them there are none.
    pub(crate) master_keys: Option<MasterKeys>,
    /// Asks the providers.
    pub(crate) http: Client,
    /// Asks whatever a client named.
    pub(crate) fetch: FetchClient,
    /// Asks whatever a model named.
    pub(crate) web: WebClients,
    /// Private networks that commands may reach, at hosts that their skill may.
    pub(crate) egress_allowed: Arc<[IpNet]>,
    pub(crate) log: LogWriter,
    /// What operators see of it all.
    pub(crate) meters: Meters,
    /// Where commands run.
    pub(crate) sandbox: Sandbox,
    /// Commands that may run at once.
    pub(crate) commands: Semaphore,
    /// Tool definitions that all jobs share.
    pub(crate) tool_definitions: ToolDefinitions,
    /// Where workspaces are made.
    pub(crate) workspaces: WorkspaceRoot,
}
