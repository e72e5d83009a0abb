//! The worker: claims jobs, runs the agent loop of each in its own workspace, and writes their logs.

// Futures are moved and allocated for each request and statement. The limit is in `clippy.toml`.
#![warn(clippy::large_futures)]

mod agent_skills;
mod ask;
mod attachment;
mod attempt;
mod attempt_error;
mod budget;
mod claim_loop;
mod compaction;
mod expected_result;
mod heartbeat;
mod history;
mod image_tokens;
mod job_model;
mod job_profile;
mod log;
mod loop_error;
mod maintenance;
mod notifications;
mod open_models;
mod packages;
mod ports;
mod preview;
pub mod programs;
mod prompt;
mod provider;
mod question;
mod run_loop;
mod settings;
mod shutdown;
mod skill;
mod staging;
mod start;
mod telemetry;
mod time_accounting;
mod toolbox;
mod transcript;
mod worker_context;
mod wrap_up;

pub use worker_sandbox as sandbox;

use std::sync::Arc;

use rustix::process::{DumpableBehavior, set_dumpable_behavior};
use shared::db::Notifier;
use tokio_util::task::AbortOnDropHandle;
use worker_workspace::WorkspaceRoot;

use crate::log::LogWriter;
use crate::telemetry::WorkerMeters;

pub use maintenance::Keep;
pub use settings::Settings;
pub use shutdown::Shutdown;

/// Runs a worker until it is shut down.
pub async fn run(settings: Settings, shutdown: Shutdown) -> anyhow::Result<()> {
    // Otherwise a command of the same user could read the environment, which contains keys, from /proc.
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // Commands need pipes and connections.
    shared::open_files::raise_limit();
    let workspaces = WorkspaceRoot::claim(&settings.home.join("workspaces"))?;
    let sandbox = start::open_sandbox(&settings, workspaces.path()).await?;
    let previewers = Vec::from_iter(preview::programs());
    let needed = settings.catalog.programs().into_iter().chain(&previewers);
    let programs = programs::installed(needed, &sandbox, workspaces.path()).await;
    let new = start::registration(&settings, &sandbox, &programs)?;
    settings.metrics.watch("worker", &settings.pool);
    settings.metrics.seconds(
        "sandbox_start_duration",
        "Time from the request of a command to its start in a sandbox",
        sandbox.starts(),
    );
    let meters = WorkerMeters::new(&settings.metrics);
    let (notifier, notifying) = Notifier::new(&settings.pool);
    let notifying = AbortOnDropHandle::new(tokio::spawn(notifying));
    let (log, writing) = LogWriter::new(&settings.pool, notifier, meters.log.clone());
    let writer = AbortOnDropHandle::new(tokio::spawn(writing));
    let (assets, keep) = (settings.assets.clone(), settings.keep);
    let context = start::context(settings, sandbox, workspaces, meters, log)?;
    if let Some(packages) = &context.packages {
        packages.collect_garbage(&context.pool).await?;
    }
    let ended = claim_loop::run(Arc::new(context), new, keep, shutdown).await;
    // The context owned the last handle of the log, so the writer ends when everything is written.
    writer.await?;
    notifying.await?;
    assets.finish_cleanup().await;
    ended
}
