//! The settings of a worker.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ipnet::IpNet;
use shared::asset::AssetStore;
use shared::db::{Notifications, Pool};
use shared::provider::Providers;
use shared::secret::MasterKeys;
use shared::skill::Catalog;
use shared::telemetry::metrics::Metrics;
use worker_sandbox::{MemoryFloor, Mode};

use crate::maintenance::Keep;

/// The settings of a worker.
pub struct Settings {
    /// Connections to the database.
    pub pool: Pool,
    /// The notifications of the process.
    pub notifications: Notifications,
    /// The registry of metrics.
    pub metrics: Metrics,
    /// The store of files.
    pub assets: AssetStore,
    /// The built-in skills.
    pub catalog: Catalog,
    /// The configured model providers.
    pub providers: Providers,
    /// The master keys of secrets. Without them, jobs that need secrets fail.
    pub master_keys: Option<MasterKeys>,
    /// The data directory of the worker.
    pub home: PathBuf,
    /// Set while the worker is registered: its sandbox works, and it takes jobs.
    pub registered: Arc<AtomicBool>,
    /// The maximum number of jobs that run concurrently.
    pub slots: u32,
    /// The time for which a worker may be silent, in whole seconds. It is the same for all workers.
    pub silence: Duration,
    /// Private networks from which inputs may be fetched.
    pub fetch_allowed: Vec<IpNet>,
    /// Private networks that commands may reach, at hosts that their skill allows.
    pub egress_allowed: Vec<IpNet>,
    /// Whether the packages that uploaded skills name are installed.
    pub install_skill_requirements: bool,
    /// The retention of jobs, live output and uploads.
    pub keep: Keep,
    /// The isolation of commands.
    pub sandbox: Mode,
    /// Directories of this machine that commands may read in addition to the usual ones.
    pub sandbox_read: Vec<PathBuf>,
    /// The available memory of this machine below which commands are ended.
    pub memory_floor: MemoryFloor,
}
