//! Preparation of an attempt: secrets, network, workspace, and the transcript so far.

use std::path::PathBuf;
use std::sync::Arc;

use shared::db::claim::Claimed;
use shared::event::EventData;
use shared::hook::Hooks;
use shared::job::{JobError, JobErrorCode};
use shared::sandbox::Isolation;
use worker_egress::Egress;
use worker_tool::{EventSink, SKILL_FOLDER, SubmitResult};
use worker_workspace::{JobSecrets, Snapshots, Workspace};

use super::decide::warning_line;
use super::files::JobFiles;
use crate::agent_skills::{AgentSkills, SKILLS_FOLDER};
use crate::attempt_error::AttemptError;
use crate::expected_result::{ExpectedResult, ResultForm};
use crate::history::{History, load_earlier_jobs};
use crate::job_profile::JobProfile;
use crate::log::JobLog;
use crate::open_models::OpenModels;
use crate::packages::JobPackages;
use crate::prompt;
use crate::skill;
use crate::staging::{self, StagedInput};
use crate::toolbox::Toolbox;
use crate::transcript::Transcript;
use crate::worker_context::WorkerContext;

/// Everything that a loop needs to start or continue.
pub(super) struct Prepared {
    pub(super) workspace: Arc<Workspace>,
    pub(super) secrets: JobSecrets,
    /// The hosts that commands may reach; `None` for no host.
    pub(super) egress: Option<Arc<Egress>>,
    pub(super) models: OpenModels,
    pub(super) tools: Toolbox,
    pub(super) system: String,
    pub(super) transcript: Transcript,
    pub(super) snapshots: Snapshots,
    /// The entries that the log needs before the loop starts.
    pub(super) entries: Vec<EventData>,
}

/// Prepares a first attempt, or one that continues an earlier attempt.
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
    let models = OpenModels::open(context, claimed)?;
    let egress = open_egress(context, claimed, profile, &secrets)?;
    let skills = AgentSkills::load(context, claimed);
    let skills = skills.await.map_err(AttemptError::Internal)?;
    let packages = install_packages(context, claimed, profile, &skills).await;
    let workspace = create_workspace(context, claimed, packages.folders())?;
    let inputs = stage(context, claimed, profile, &skills, &workspace).await?;
    let history = read_history(context, claimed).await;
    let history = history.map_err(AttemptError::Internal)?;
    let files = JobFiles::prepare(context, claimed, log, &workspace, &history).await?;
    let reachable = egress.as_ref().map(Egress::allowed);
    let mut system = prompt::system(profile, reachable.as_deref(), &files.at_first);
    system.push_str(&skills.section(context, &packages).await);
    if let Some(skill) = profile.skill().filter(|_| profile.has_shell()) {
        let mut installed = context.installed(&skill.optional).await;
        if packages.has(skill) {
            installed.extend(skill.packages().cloned());
        }
        system.push_str(&prompt::programs_section(skill, &installed));
        system.push_str(&prompt::tool_names_section(skill));
    }
    let commands = profile.has_shell().then_some(profile.command_timeout);
    system.push_str(&prompt::limits_section(&claimed.request.limits, commands));
    let submit = submit_result(claimed)?;
    let form = submit.as_ref().map(|it| result_form(&models, it));
    if let (Some(submit), Some(form)) = (&submit, form) {
        system.push_str(&prompt::result_section(submit.schema(), form));
    }
    let follows_a_script = models.first().follows_a_script();
    let notes = &files.notes;
    let (transcript, mut entries) = Box::pin(restore_transcript(
        context,
        claimed,
        profile,
        log,
        Restoring {
            history,
            inputs: &inputs,
            notes,
            follows_a_script,
            expected: submit.clone().zip(form),
        },
    ))
    .await?;
    let missing = models.missing.iter();
    entries.extend(missing.map(|what| warning_line(&format!("a model is left out: {what}"))));
    let gone = skills.gone.iter();
    entries.extend(gone.map(|name| warning_line(&format!("the skill `{name}` no longer exists"))));
    entries.extend(packages.troubles.iter().map(|(name, trouble)| {
        let text = format!("the packages of the skill `{name}` could not be installed: {trouble}");
        warning_line(&log.redact(&text))
    }));
    let secrets_to_send = profile.sent_secrets();
    let definitions = &context.tool_definitions;
    let mut tools = Toolbox::new(&profile.tools, &profile.hooks, secrets_to_send, definitions)
        .map_err(AttemptError::internal)?;
    if let Some(submit) = submit.filter(|_| form == Some(ResultForm::Call)) {
        let arguments = submit.arguments();
        // The call only delivers the result that the job requested, so it never needs approval.
        tools.add(Box::new(submit), arguments, &Hooks::default());
    }
    Ok(Prepared {
        workspace,
        secrets,
        // Without a network namespace, commands use the machine's network.
        egress: egress
            .filter(|_| context.sandbox.isolation() == Isolation::Namespaced)
            .map(Arc::new),
        models,
        tools,
        // File names can contain the values of secrets.
        system: log.redact(&system).into_owned(),
        transcript,
        snapshots: files.snapshots,
        entries,
    })
}

/// Reads the events of earlier attempts, with the images that the model still sees.
async fn read_history(context: &WorkerContext, claimed: &Claimed) -> anyhow::Result<History> {
    if claimed.job.attempt <= 1 {
        return Ok(History::default());
    }
    let job = claimed.job.id;
    let mut history = History::read(&context.pool, job).await?;
    history
        .load_images(&context.assets.workspace_store(job))
        .await?;
    Ok(history)
}

/// Returns the tool for the structured result, if the job needs one.
fn submit_result(claimed: &Claimed) -> Result<Option<SubmitResult>, AttemptError> {
    let Some(schema) = &claimed.request.output_schema else {
        return Ok(None);
    };
    let schema = schema.compile().map_err(AttemptError::internal)?;
    Ok(Some(SubmitResult::new(schema)))
}

fn result_form(models: &OpenModels, submit: &SubmitResult) -> ResultForm {
    if models.constrain_output(submit.schema()) {
        ResultForm::Message
    } else {
        ResultForm::Call
    }
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

/// Installs the packages that the job's uploaded skills name, if the operator allows it and the job runs commands.
async fn install_packages(
    context: &WorkerContext,
    claimed: &Claimed,
    profile: &JobProfile,
    agent_skills: &AgentSkills,
) -> JobPackages {
    let mut packages = JobPackages::default();
    let Some(layers) = context.packages.as_ref().filter(|_| profile.has_shell()) else {
        return packages;
    };
    let own = profile.skill();
    let own = own.filter(|_| claimed.job.skill_version.is_some());
    for skill in own.into_iter().chain(agent_skills.uploaded()) {
        let name = skill.name.clone();
        match Box::pin(layers.of(context.package_installer(), skill)).await {
            Ok(layer) => packages.layers.extend(layer.map(|layer| (name, layer))),
            Err(trouble) => packages.troubles.push((name, trouble)),
        }
    }
    packages
}

fn create_workspace(
    context: &WorkerContext,
    claimed: &Claimed,
    packages: Vec<PathBuf>,
) -> Result<Arc<Workspace>, AttemptError> {
    let name = format!("{}-{}", claimed.job.id, claimed.lease.number);
    let identity = context.sandbox.identity().map_err(AttemptError::Internal)?;
    let path = context.workspaces.path().join(name);
    let workspace = Workspace::new(path, identity);
    Ok(Arc::new(workspace.with_packages(packages)))
}

/// Writes the skill's files and the job's inputs into the workspace.
async fn stage(
    context: &WorkerContext,
    claimed: &Claimed,
    profile: &JobProfile,
    skills: &AgentSkills,
    workspace: &Arc<Workspace>,
) -> Result<Vec<StagedInput>, AttemptError> {
    if let Some(files) = profile.files().cloned() {
        let workspace = workspace.clone();
        let staging = tokio::task::spawn_blocking(move || skill::stage(&files, &workspace));
        let staged = staging.await.map_err(AttemptError::internal)?;
        staged.map_err(AttemptError::internal)?;
    }
    if !skills.is_empty() {
        let (skills, workspace) = (skills.skills.clone(), workspace.clone());
        let staging = tokio::task::spawn_blocking(move || AgentSkills::stage(&skills, &workspace));
        let staged = staging.await.map_err(AttemptError::internal)?;
        staged.map_err(AttemptError::internal)?;
    }
    let reserved = match profile.files() {
        Some(_) => Some(SKILL_FOLDER),
        None => (!skills.is_empty()).then_some(SKILLS_FOLDER),
    };
    staging::stage(context, claimed, workspace, reserved).await
}

/// The sources of a restored transcript.
struct Restoring<'a> {
    history: History,
    inputs: &'a [StagedInput],
    /// Notes for the model about missing files.
    notes: &'a [String],
    follows_a_script: bool,
    /// The structured result to expect.
    expected: Option<(SubmitResult, ResultForm)>,
}

/// Restores the transcript. Also returns the entries that the log still needs.
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
        // A script follows its prompt and ignores earlier messages.
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
    if let Some((tool, form)) = from.expected {
        transcript.expect(ExpectedResult::new(tool, form));
    }
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
