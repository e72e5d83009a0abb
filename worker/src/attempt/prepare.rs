//! From a claim to a loop that can run: the workspace with its inputs, and what was said so far.

use std::sync::Arc;

use shared::db::claim::Claimed;
use shared::event::EventData;
use shared::job::JobErrorCode;
use shared::sandbox::Isolation;

use super::Fault;
use super::end::log_line;
use super::files::Files;
use crate::egress::Egress;
use crate::history::{History, recall};
use crate::log::JobLog;
use crate::model;
use crate::prompt;
use crate::role::Role;
use crate::run_loop::Dialogue;
use crate::secret::JobSecrets;
use crate::shop::Shop;
use crate::skill;
use crate::staging;
use crate::tool::Toolbox;
use crate::transcript::Transcript;
use crate::workspace::Workspace;

/// What a loop needs to begin, or to go on.
pub(super) struct Prepared {
    pub(super) workspace: Arc<Workspace>,
    pub(super) secrets: JobSecrets,
    /// What its commands may reach; `None` for nothing.
    pub(super) egress: Option<Arc<Egress>>,
    pub(super) dialogue: Dialogue,
    /// What the log needs before the loop goes on.
    pub(super) entries: Vec<EventData>,
}

/// Prepares a first attempt, or one that goes on where another ended.
pub(super) async fn prepare(
    shop: &Shop,
    claimed: &Claimed,
    role: &Role,
    log: &JobLog,
) -> Result<Prepared, Fault> {
    let keys = shop.master_keys.as_ref();
    let secrets = JobSecrets::load(&shop.pool, keys, claimed.tenant, &role.secrets).await?;
    if let Some(redactor) = secrets.redactor() {
        log.hide(redactor);
    }
    let model = model::open(&shop.providers, &shop.http, &claimed.job.model)
        .map_err(|error| JobErrorCode::ModelNotConfigured.with(error.to_string()))?;
    let name = format!("{}-{}", claimed.job.id, claimed.lease.number);
    let find = |name: &str| {
        let mut pairs = secrets.environment();
        pairs.find_map(|(it, value)| (it == name).then(|| value.to_owned()))
    };
    let parameters = &claimed.request.parameters;
    let egress = Egress::new(&role.network, parameters, find, shop.egress_allowed.clone());
    let egress = egress.map_err(|error| {
        let error = anyhow::Error::from(error);
        JobErrorCode::NetworkUnavailable.with(format!("{error:#}"))
    })?;
    let identity = shop.sandbox.identity().map_err(Fault::Ours)?;
    let workspace = Workspace::new(shop.workspaces.path().join(name), identity);
    let workspace = Arc::new(workspace);
    if let Some(files) = role.files().cloned() {
        let workspace = workspace.clone();
        let staging = tokio::task::spawn_blocking(move || skill::stage(&files, &workspace));
        staging.await.map_err(Fault::ours)?.map_err(Fault::ours)?;
    }
    let reserved = role.files().map(|_| skill::FOLDER);
    let inputs = staging::stage(shop, claimed, &workspace, reserved).await?;
    let history = if claimed.job.attempt > 1 {
        History::read(&shop.pool, claimed.job.id)
            .await
            .map_err(Fault::Ours)?
    } else {
        History::default()
    };
    let files = Files::prepare(shop, claimed, log, &workspace, &history).await?;
    let reachable = egress.as_ref().map(Egress::allowed);
    let system = prompt::system(role, reachable.as_deref(), &files.at_first);
    let mut transcript = Transcript::new(model.follows_a_script());
    let mut missing = Vec::new();
    if let Some(seat) = claimed.seat
        // A script does what stands in the prompt, and remembers nothing.
        && !model.follows_a_script()
    {
        let recalled = recall(&shop.pool, claimed.tenant, seat, &history, &mut transcript);
        missing = recalled.await.map_err(Fault::Ours)?;
        if !role.has_tools() {
            transcript.forget_calls();
        }
    }
    let request = &claimed.request;
    let first = prompt::first_message(&request.prompt, &request.parameters, &inputs);
    transcript.begin(claimed.job.id, first);
    files
        .notes
        .iter()
        .for_each(|note| transcript.note(&log.redact(note)));
    missing
        .iter()
        .for_each(|what| transcript.note(&format!("[Note: {what}.]")));
    let mut entries: Vec<_> = missing.into_iter().map(log_line).collect();
    entries.extend(history.replay(&mut transcript));
    let dialogue = Dialogue {
        model,
        tools: Toolbox::new(&role.tools, &role.hooks, role.sent_secrets()).map_err(Fault::ours)?,
        // Files may be called like anything.
        system: log.redact(&system).into_owned(),
        transcript,
        snapshots: files.snapshots,
    };
    Ok(Prepared {
        workspace,
        secrets,
        // Without a network of its own a command has the machine's.
        egress: egress
            .filter(|_| shop.sandbox.isolation() == Isolation::Namespaced)
            .map(Arc::new),
        dialogue,
        entries,
    })
}
