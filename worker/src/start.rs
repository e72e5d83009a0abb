//! The start of a worker: its sandbox, its registration, and the context of its attempts.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use reqwest::Client;
use shared::db::worker::NewWorker;
use shared::sandbox::{Isolation, MemoryLimit};
use shared::skill::{Network, Program};
use tokio::sync::Semaphore;
use worker_egress::net::{FetchClient, WebClients};
use worker_model::LearnedLimits;
use worker_sandbox::Sandbox;
use worker_workspace::WorkspaceRoot;

use crate::log::LogWriter;
use crate::packages::PackageLayers;
use crate::preview;
use crate::programs::KnownPrograms;
use crate::provider::ProviderAccounts;
use crate::settings::Settings;
use crate::telemetry::WorkerMeters;
use crate::toolbox::ToolDefinitions;
use crate::worker_context::WorkerContext;

/// The maximum number of concurrent commands per core. Further commands wait.
const COMMANDS_PER_CORE: usize = 4;

/// The timeout of a connection to a provider.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// The timeout of a connection if another provider can answer.
const CONNECT_TIMEOUT_WITH_FALLBACK: Duration = Duration::from_millis(800);

/// Opens the sandbox, and warns if its isolation is weaker than possible.
pub(crate) async fn open_sandbox(settings: &Settings, home: &Path) -> anyhow::Result<Sandbox> {
    let read_only = settings.sandbox_read.clone();
    let floor = settings.memory_floor;
    let sandbox = worker_sandbox::open(settings.sandbox, home, read_only, floor).await?;
    if sandbox.isolation() != Isolation::Namespaced {
        let isolation = sandbox.isolation().as_str();
        tracing::warn!(
            isolation,
            "commands of models are not isolated by namespaces"
        );
    }
    if sandbox.memory_limit() == MemoryLimit::Watched {
        tracing::warn!(
            "commands have no cgroups: their memory is watched and not limited, so one can exceed its limit before it is \
             killed; deploy/README.md says how to give them cgroups"
        );
    }
    Ok(sandbox)
}

/// Returns the worker as it registers in the database.
pub(crate) fn registration(
    settings: &Settings,
    sandbox: &Sandbox,
    programs: &BTreeSet<Program>,
) -> anyhow::Result<NewWorker> {
    let slots = settings.slots;
    let slots = slots.min(sandbox.max_jobs().unwrap_or(slots));
    let skills = settings.catalog.iter();
    let runnable = skills
        .filter(|skill| skill.missing(programs).is_empty())
        .filter(|skill| sandbox.has_network() || skill.network == Network::None);
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy();
    Ok(NewWorker {
        name: format!("{host}:{}", std::process::id()),
        home: settings.home.display().to_string(),
        slots: i32::try_from(slots)?,
        skills: runnable.map(|skill| skill.name.clone()).collect(),
        programs: programs.iter().map(ToString::to_string).collect(),
        providers: settings.providers.ready(),
        isolation: sandbox.isolation(),
        memory_limit: sandbox.memory_limit(),
        renders_previews: preview::is_possible(sandbox, programs),
    })
}

/// Creates the context that all attempts share.
pub(crate) fn context(
    settings: Settings,
    sandbox: Sandbox,
    workspaces: WorkspaceRoot,
    meters: WorkerMeters,
    log: LogWriter,
) -> anyhow::Result<WorkerContext> {
    let installs = settings.install_skill_requirements;
    let packages = installs.then(|| PackageLayers::open(&settings.home));
    let (fetch_allowed, egress_allowed) = (settings.fetch_allowed, settings.egress_allowed);
    let accounts = ProviderAccounts::new(settings.pool.clone(), meters.providers.clone());
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    Ok(WorkerContext {
        pool: settings.pool,
        notifications: settings.notifications,
        registered: settings.registered,
        silence: settings.silence,
        assets: settings.assets,
        catalog: settings.catalog,
        providers: settings.providers,
        learned_limits: LearnedLimits::default(),
        master_keys: settings.master_keys,
        accounts,
        http: provider_client(CONNECT_TIMEOUT)?,
        impatient_http: provider_client(CONNECT_TIMEOUT_WITH_FALLBACK)?,
        fetch: FetchClient::new(&fetch_allowed)?,
        web: WebClients::new(&fetch_allowed, &egress_allowed)?,
        egress_allowed: egress_allowed.into(),
        packages: packages.transpose()?,
        log,
        meters,
        sandbox,
        commands: Semaphore::new(cores * COMMANDS_PER_CORE),
        tool_definitions: ToolDefinitions::default(),
        known_programs: KnownPrograms::default(),
        workspaces,
    })
}

/// Creates a client for model providers. It follows no redirects, because they would receive the key. It has no
/// timeout for a reply, because a reply may take long.
fn provider_client(connect_timeout: Duration) -> reqwest::Result<Client> {
    Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect_timeout)
        .build()
}
