//! The context of a worker: everything that its attempts share.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ipnet::IpNet;
use reqwest::Client;
use shared::asset::AssetStore;
use shared::db::{Notifications, Pool};
use shared::provider::Providers;
use shared::secret::MasterKeys;
use shared::skill::{Catalog, Need, Program};
use tokio::sync::Semaphore;
use worker_egress::net::{FetchClient, WebClients};
use worker_model::LearnedLimits;
use worker_sandbox::Sandbox;
use worker_workspace::WorkspaceRoot;

use crate::log::LogWriter;
use crate::packages::{PackageInstaller, PackageLayers};
use crate::programs::KnownPrograms;
use crate::provider::ProviderAccounts;
use crate::telemetry::WorkerMeters;
use crate::toolbox::ToolDefinitions;

/// Everything that the attempts of a worker share.
pub(crate) struct WorkerContext {
    pub(crate) pool: Pool,
    pub(crate) notifications: Notifications,
    /// Set while the worker is registered.
    pub(crate) registered: Arc<AtomicBool>,
    /// The time for which a worker may be silent before others take over its jobs.
    pub(crate) silence: Duration,
    pub(crate) assets: AssetStore,
    pub(crate) catalog: Catalog,
    pub(crate) providers: Providers,
    /// Limits of models that providers have reported.
    pub(crate) learned_limits: LearnedLimits,
    /// The master keys of secrets. Without them, jobs that need secrets fail.
    pub(crate) master_keys: Option<MasterKeys>,
    /// The accounts at model providers.
    pub(crate) accounts: ProviderAccounts,
    /// The HTTP client for model providers.
    pub(crate) http: Client,
    /// The HTTP client for models that have a fallback. It has a short connection timeout.
    pub(crate) impatient_http: Client,
    /// The HTTP client for inputs by URL.
    pub(crate) fetch: FetchClient,
    /// The HTTP clients of tools.
    pub(crate) web: WebClients,
    /// Private networks that commands may reach, at hosts that their skill allows.
    pub(crate) egress_allowed: Arc<[IpNet]>,
    /// The packages of uploaded skills, or `None` if they are not installed.
    pub(crate) packages: Option<PackageLayers>,
    pub(crate) log: LogWriter,
    /// The metrics of the worker.
    pub(crate) meters: WorkerMeters,
    /// The sandbox in which commands run.
    pub(crate) sandbox: Sandbox,
    /// Permits for concurrent commands.
    pub(crate) commands: Semaphore,
    /// Tool definitions that all jobs share.
    pub(crate) tool_definitions: ToolDefinitions,
    /// The programs that were searched for.
    pub(crate) known_programs: KnownPrograms,
    /// The folder of the workspaces.
    pub(crate) workspaces: WorkspaceRoot,
}

impl WorkerContext {
    /// Returns the dependencies of the installation of packages.
    pub(crate) fn package_installer(&self) -> PackageInstaller<'_> {
        PackageInstaller {
            pool: &self.pool,
            sandbox: &self.sandbox,
            command_permits: &self.commands,
            egress_allowed: &self.egress_allowed,
            workspaces: self.workspaces.path(),
        }
    }

    /// Returns the programs of the needs that are installed.
    pub(crate) async fn installed(&self, needs: &[Need]) -> BTreeSet<Program> {
        let home = self.workspaces.path();
        let known = &self.known_programs;
        known.installed(needs, &self.sandbox, home).await
    }
}
