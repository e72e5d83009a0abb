//! Preparation of an attempt: secrets, network, workspace, and the transcript so far.

use std::sync::Arc;

use shared::db::claim::Claimed;
use shared::event::EventData;
use shared::job::{JobError, JobErrorCode};
use shared::sandbox::Isolation;
use worker_egress::Egress;
use worker_model::LanguageModel;
use worker_tool::{EventSink, SKILL_FOLDER};
use worker_workspace::{JobSecrets, Snapshots, Workspace};

use super::decide::warning_line;
use super::files::JobFiles;
use crate::attempt_error::AttemptError;
use crate::history::{History, load_earlier_jobs};
use crate::job_profile::JobProfile;
use crate::log::JobLog;
use crate::prompt;
use crate::skill;
use crate::staging::{self, StagedInput};
use crate::toolbox::Toolbox;
use crate::transcript::Transcript;
use crate::worker_context::WorkerContext;

/// Everything that a loop needs to begin or to go on.
pub(super) struct Prepared {
    pub(super) workspace: Arc<Workspace>,
    pub(super) secrets: JobSecrets,
    /// The hosts that commands may reach; `None` for no host.
    pub(super) egress: Option<Arc<Egress>>,
    pub(super) model: Box<dyn LanguageModel>,
    pub(super) tools: Toolbox,
    pub(super) system: String,
    pub(super) transcript: Transcript,
    pub(super) snapshots: Snapshots,
    /// The entries that the log needs before the loop goes on.
    pub(super) entries: Vec<EventData>,
}

/// Prepares a first attempt, or one that goes on where another ended.
pub(super) async fn prepare(
    context: &WorkerContext,
    claimed: &Claimed,
    profile: &JobProfile,
    log: &JobLog,
) -> Result<Prepared, AttemptError> {
    let keys = context.master_keys.as_ref();
    let secrets = JobSecrets::load(&context.pool, keys, claimed.tenant, &profile.secrets).await?;
    if let Some(redactor) = secrets.redactor() {
        log.hide(redactor);
    }
    let model = worker_model::open(&context.providers, &context.http, &claimed.job.model)
        .map_err(|error| JobErrorCode::ModelNotConfigured.with(error.to_string()))?;
    let egress = open_egress(context, claimed, profile, &secrets)?;
    let workspace = create_workspace(context, claimed)?;
    let inputs = stage(context, claimed, profile, &workspace).await?;
    let history = match claimed.job.attempt {
        ..=1 => History::default(),
        _ => History::read(&context.pool, claimed.job.id)
            .await
            .map_err(AttemptError::Internal)?,
    };
    let files = JobFiles::prepare(context, claimed, log, &workspace, &history).await?;
    let reachable = egress.as_ref().map(Egress::allowed);
    let system = prompt::system(profile, reachable.as_deref(), &files.at_first);
    let follows_a_script = model.follows_a_script();
    let notes = &files.notes;
    let (transcript, entries) = Box::pin(restore_transcript(
        context,
        claimed,
        profile,
        log,
        Restoring {
            history,
            inputs: &inputs,
            notes,
            follows_a_script,
        },
    ))
    .await?;
    let secrets_to_send = profile.sent_secrets();
    let definitions = &context.tool_definitions;
    let tools = Toolbox::new(&profile.tools, &profile.hooks, secrets_to_send, definitions)
        .map_err(AttemptError::internal)?;
    Ok(Prepared {
        workspace,
        secrets,
        // Without a network namespace a command has the machine's network.
        egress: egress
            .filter(|_| context.sandbox.isolation() == Isolation::Namespaced)
            .map(Arc::new),
        model,
        tools,
        // File names can contain the values of secrets.
        system: log.redact(&system).into_owned(),
        transcript,
        snapshots: files.snapshots,
        entries,
    })
}

fn open_egress(
    context: &WorkerContext,
    claimed: &Claimed,
    profile: &JobProfile,
    secrets: &JobSecrets,
) -> Result<Option<Egress>, JobError> {
    let find = |name: &str| {
        let mut pairs = secrets.environment();
        pairs.find_map(|(it, value)| (it == name).then(|| value.to_owned()))
    };
    let parameters = &claimed.request.parameters;
    let allowed = context.egress_allowed.clone();
    Egress::new(&profile.network, parameters, find, allowed).map_err(|error| {
        let error = anyhow::Error::from(error);
        JobErrorCode::NetworkUnavailable.with(format!("{error:#}"))
    })
}

fn create_workspace(
    context: &WorkerContext,
    claimed: &Claimed,
) -> Result<Arc<Workspace>, AttemptError> {
    let name = format!("{}-{}", claimed.job.id, claimed.lease.number);
    let identity = context.sandbox.identity().map_err(AttemptError::Internal)?;
    let path = context.workspaces.path().join(name);
    Ok(Arc::new(Workspace::new(path, identity)))
}

/// Writes the skill's files and the job's inputs into the workspace.
async fn stage(
    context: &WorkerContext,
    claimed: &Claimed,
    profile: &JobProfile,
    workspace: &Arc<Workspace>,
) -> Result<Vec<StagedInput>, AttemptError> {
    if let Some(files) = profile.files().cloned() {
        let workspace = workspace.clone();
        let staging = tokio::task::spawn_blocking(move || skill::stage(&files, &workspace));
        let staged = staging.await.map_err(AttemptError::internal)?;
        staged.map_err(AttemptError::internal)?;
    }
    let reserved = profile.files().map(|_| SKILL_FOLDER);
    staging::stage(context, claimed, workspace, reserved).await
}

/// The sources of a restored transcript.
struct Restoring<'a> {
    history: History,
    inputs: &'a [StagedInput],
    /// Notes for the model about missing files.
    notes: &'a [String],
    follows_a_script: bool,
}

/// The transcript so far, and the entries that the log still needs.
async fn restore_transcript(
    context: &WorkerContext,
    claimed: &Claimed,
    profile: &JobProfile,
    log: &JobLog,
    from: Restoring<'_>,
) -> Result<(Transcript, Vec<EventData>), AttemptError> {
    let mut transcript = Transcript::new(from.follows_a_script);
    let mut missing = Vec::new();
    if let Some(position) = claimed.position
        // A script does what its prompt says, and reads no earlier messages.
        && !from.follows_a_script
    {
        let (pool, tenant) = (&context.pool, claimed.tenant);
        missing = load_earlier_jobs(pool, tenant, position, &from.history, &mut transcript)
            .await
            .map_err(AttemptError::Internal)?;
        if !profile.has_tools() {
            transcript.render_calls_as_text();
        }
    }
    let request = &claimed.request;
    let first = prompt::first_message(&request.prompt, &request.parameters, from.inputs);
    transcript.begin(claimed.job.id, first);
    for note in from.notes {
        transcript.note(&log.redact(note));
    }
    for what in &missing {
        transcript.note(&format!("[Note: {what}.]"));
    }
    let mut entries: Vec<_> = missing.into_iter().map(warning_line).collect();
    entries.extend(from.history.replay(&mut transcript));
    Ok((transcript, entries))
}
