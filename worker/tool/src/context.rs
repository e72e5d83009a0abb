//! The context of a tool call: the parts of an attempt that tools use.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use shared::asset::AssetStore;
use shared::db::Pool;
use shared::event::EventData;
use shared::id::{JobId, TenantId};
use shared::skill::Network;
use tokio::sync::Semaphore;
use worker_egress::Egress;
use worker_egress::net::WebClients;
use worker_model::LanguageModel;
use worker_sandbox::Sandbox;
use worker_workspace::{JobSecrets, Redactor, Workspace};

use crate::browser::KeptBrowser;

/// The folder of a skill's files in the workspace.
pub const SKILL_FOLDER: &str = "skill";
/// The folder of a skill's programs. Commands find them before other programs of the same name.
pub const PROGRAMS_FOLDER: &str = "skill/bin";

/// Another worker has the job, or the job has ended. Nothing that this worker writes takes effect.
#[derive(Debug, thiserror::Error)]
#[error("the lease is lost")]
pub struct LeaseLost;

/// The event log of an attempt.
pub trait EventSink: Send + Sync {
    /// Appends an event after all earlier ones, without waiting for the commit.
    fn append(&self, event: EventData) -> BoxFuture<'_, ()>;

    /// Appends an event, and waits until it and all earlier events are committed.
    fn commit(&self, event: EventData) -> BoxFuture<'_, Result<(), LeaseLost>>;

    /// Returns the redactor of the job's secrets, or `None` if the job has no secrets.
    fn redactor(&self) -> Option<Arc<Redactor>>;

    /// Returns the text without the job's secrets.
    fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.redactor() {
            Some(redactor) => redactor.redact(text),
            None => Cow::Borrowed(text),
        }
    }
}

/// The parts of an attempt that tools use.
pub struct ToolContext<'a> {
    /// The job, for log lines and stored outputs.
    pub job: JobId,
    /// The tenant of the job.
    pub tenant: TenantId,
    /// The parameters of the job.
    pub parameters: &'a Map<String, Value>,
    /// The workspace of the job.
    pub workspace: Arc<Workspace>,
    /// The sandbox in which commands run.
    pub sandbox: &'a Sandbox,
    /// The browser of the attempt.
    pub browser: KeptBrowser,
    /// Permits for concurrent commands on this worker.
    pub command_permits: &'a Semaphore,
    /// The hosts that commands may reach, or `None` for no network.
    pub egress: Option<&'a Arc<Egress>>,
    /// The network that the skill or agent declares.
    pub network: &'a Network,
    /// The secrets of the job.
    pub secrets: &'a JobSecrets,
    /// The HTTP clients of tools.
    pub web: &'a WebClients,
    /// The model, which determines whether images are shown.
    pub model: &'a dyn LanguageModel,
    /// The event log of the attempt.
    pub events: &'a dyn EventSink,
    /// The asset store, for files that become outputs.
    pub assets: &'a AssetStore,
    /// The database, for the rows of outputs.
    pub pool: &'a Pool,
    /// Whether the files of a skill are in the workspace.
    pub has_skill_files: bool,
    /// Whether the skill contains programs of its own.
    pub has_programs: bool,
    /// The maximum duration of a command.
    pub command_timeout: Duration,
    /// The maximum number of bytes of one result that the model reads.
    pub max_output_bytes: usize,
}
