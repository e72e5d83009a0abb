//! The worker: claims jobs, runs each one's loop in a workspace of its own, and writes down what happens.

mod ask;
mod attempt;
mod attempt_error;
mod budget;
mod chore;
mod compaction;
mod heartbeat;
mod history;
mod ledger;
mod life;
mod log;
mod loop_error;
mod ports;
pub mod programs;
mod prompt;
mod question;
mod role;
mod run_loop;
mod shutdown;
mod sight;
mod skill;
mod staging;
mod telemetry;
mod toolbox;
mod transcript;
mod upkeep;
mod wake;
mod worker_context;

pub use worker_sandbox as sandbox;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use reqwest::Client;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use shared::asset::AssetStore;
use shared::db::Pool;
use shared::db::worker::NewWorker;
use shared::provider::Providers;
use shared::sandbox::{Isolation, MemoryLimit};
use shared::secret::MasterKeys;
use shared::skill::{Catalog, Network};
use shared::telemetry::metrics::Metrics;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;
use worker_egress::net::{FetchClient, WebClients};
use worker_sandbox::{MemoryFloor, Mode};
use worker_workspace::WorkspaceRoot;

use crate::log::LogWriter;
pub use crate::shutdown::Shutdown;
use crate::telemetry::Meters;
use crate::toolbox::ToolDefinitions;
pub use crate::upkeep::Keep;
use crate::worker_context::WorkerContext;

/// Commands per core that run at once; the others wait their turn.
const COMMANDS_PER_CORE: usize = 4;

/// How long a provider may take to accept a connection; then it counts as out of reach.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// What a worker is given.
pub struct Settings {
    /// Connections to the database.
    pub pool: Pool,
    /// Where what it counts is shown.
    pub metrics: Metrics,
    /// Where bytes go.
    pub assets: AssetStore,
    /// The skills that it knows.
    pub catalog: Catalog,
    /// The providers that it knows.
    pub providers: Providers,
    /// The keys of secrets. Without them, jobs that need secrets fail.
    pub master_keys: Option<MasterKeys>,
    /// Its data directory.
    pub home: PathBuf,
    /// Jobs that it runs at once.
    pub slots: u32,
    /// How long a worker may be silent, in whole seconds; the same for all.
    pub silence: Duration,
    /// Private networks that inputs may be fetched from.
    pub fetch_allowed: Vec<IpNet>,
    /// Private networks that commands may reach, at hosts that their skill may.
    pub egress_allowed: Vec<IpNet>,
    /// How long things are kept that nobody uses any more.
    pub keep: Keep,
    /// How commands are to be confined.
    pub sandbox: Mode,
    /// Directories of this machine that commands may read beside the usual ones.
    pub sandbox_read: Vec<PathBuf>,
    /// Available memory of this machine below which commands end.
    pub memory_floor: MemoryFloor,
}

/// Runs a worker until it is told to end.
pub async fn run(settings: Settings, shutdown: Shutdown) -> anyhow::Result<()> {
    // A command of the same user could read our environment, with the keys in it, out of /proc.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Commands bring pipes and connections.
    shared::open_files::raise_limit();
    let Settings {
        pool,
        metrics,
        assets,
        catalog,
        providers,
        master_keys,
        home,
        slots,
        silence,
        fetch_allowed,
        egress_allowed,
        keep,
        sandbox,
        sandbox_read,
        memory_floor,
    } = settings;
    let workspaces = WorkspaceRoot::claim(&home.join("workspaces"))?;
    let sandbox = sandbox::open(sandbox, workspaces.path(), sandbox_read, memory_floor).await?;
    if sandbox.isolation() != Isolation::Namespaced {
        let isolation = sandbox.isolation().as_str();
        tracing::warn!(
            isolation,
            "commands of models are not confined in namespaces"
        );
    }
    if sandbox.memory_limit() == MemoryLimit::Watched {
        tracing::warn!(
            "commands have no cgroups: their memory is watched and not limited, so one can take more than it may before it \
             is ended; deploy/README.md says how to give them cgroups"
        );
    }
    let slots = slots.min(sandbox.max_jobs().unwrap_or(slots));
    let programs = programs::installed(catalog.programs(), &sandbox, workspaces.path()).await;
    let runnable = catalog
        .iter()
        .filter(|skill| skill.missing(&programs).is_empty())
        .filter(|skill| sandbox.has_network() || skill.network == Network::None);
    let new = NewWorker {
        name: format!(
            "{}:{}",
            rustix::system::uname().nodename().to_string_lossy(),
            std::process::id()
        ),
        home: home.display().to_string(),
        slots: i32::try_from(slots)?,
        skills: runnable.map(|skill| skill.name.clone()).collect(),
        programs: programs.iter().map(ToString::to_string).collect(),
        providers: providers.ready(),
        isolation: sandbox.isolation(),
        memory_limit: sandbox.memory_limit(),
    };
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    metrics.watch("worker", &pool);
    metrics.seconds(
        "sandbox_start_duration",
        "From the order of a command to its start in a sandbox",
        sandbox.starts(),
    );
    let meters = Meters::new(&metrics);
    let (log, writing) = LogWriter::new(&pool, meters.log.clone());
    let writer = AbortOnDropHandle::new(tokio::spawn(writing));
    let asset_store = assets.clone();
    let context = WorkerContext {
        pool,
        silence,
        assets,
        catalog,
        providers,
        master_keys,
        // A key would follow a redirect, and a reply may take as long as it takes.
        http: Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_TIMEOUT)
            .build()?,
        fetch: FetchClient::new(&fetch_allowed)?,
        web: WebClients::new(&fetch_allowed, &egress_allowed)?,
        egress_allowed: egress_allowed.into(),
        log,
        meters,
        sandbox,
        commands: Semaphore::new(cores * COMMANDS_PER_CORE),
        tool_definitions: ToolDefinitions::default(),
        workspaces,
    };
    life::live(Arc::new(context), new, keep, shutdown).await?;
    // The last handle of the log went with the context: the writer ends when all is written.
    writer.await?;
    asset_store.finish_cleanup().await;
    Ok(())
}
