//! From a claim to a loop that can run: the workspace with its inputs, and what was said so far.

use std::sync::Arc;

use shared::db::claim::Claimed;
use shared::event::EventData;
use shared::job::JobErrorCode;

use super::Fault;
use crate::egress::Egress;
use crate::history::History;
use crate::log::JobLog;
use crate::model;
use crate::prompt;
use crate::role::Role;
use crate::run_loop::Conversation;
use crate::secret::JobSecrets;
use crate::shop::Shop;
use crate::staging;
use crate::tool::Toolbox;
use crate::transcript::Transcript;
use crate::workspace::{Snapshots, Workspace};

/// What a loop needs to begin, or to go on.
pub(super) struct Prepared {
    pub(super) workspace: Arc<Workspace>,
    pub(super) secrets: JobSecrets,
    /// What its commands may reach; `None` for nothing.
    pub(super) egress: Option<Egress>,
    pub(super) conversation: Conversation,
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
    let workspace =
        Workspace::create(shop.workspaces.path().join(name), identity).map_err(Fault::ours)?;
    let workspace = Arc::new(workspace);
    let inputs = staging::stage(shop, claimed, &workspace).await?;
    let request = &claimed.request;
    let first = prompt::first_message(&request.prompt, &request.parameters, &inputs);
    let files = Workspace::list(&workspace).await.map_err(Fault::ours)?;
    let reachable = egress.as_ref().map(Egress::allowed);
    let transcript = Transcript::new(first, model.follows_a_script());
    let mut conversation = Conversation {
        model,
        tools: Toolbox::new(&role.tools, role.sent_secrets()).map_err(Fault::ours)?,
        // Files may be called like anything.
        system: log
            .redact(&prompt::system(role, reachable.as_deref(), &files))
            .into_owned(),
        transcript,
        snapshots: Snapshots::begin(&shop.assets, claimed.job.id, &workspace)
            .await
            .map_err(Fault::ours)?,
    };
    let entries = if claimed.job.attempt > 1 {
        take_up(shop, claimed, log, &workspace, &mut conversation)
            .await
            .map_err(Fault::ours)?
    } else {
        Vec::new()
    };
    Ok(Prepared {
        workspace,
        secrets,
        egress,
        conversation,
        entries,
    })
}

/// Brings workspace and transcript to where the attempt before left them.
async fn take_up(
    shop: &Shop,
    claimed: &Claimed,
    log: &JobLog,
    workspace: &Arc<Workspace>,
    conversation: &mut Conversation,
) -> anyhow::Result<Vec<EventData>> {
    let history = History::read(&shop.pool, claimed.job.id).await?;
    let Conversation {
        transcript,
        snapshots,
        ..
    } = conversation;
    if let Some(manifest) = history.manifest() {
        match snapshots.restore(workspace, manifest).await {
            Ok(None) => {}
            Ok(Some(lost)) => transcript.note(&format!(
                "[The work moved to another machine. These files were too large to move: {}.]",
                log.redact(&lost)
            )),
            Err(error) => {
                let error = format!("{error:#}");
                let error = log.redact(&error);
                tracing::error!(job = %claimed.job.id, %error, "a workspace could not be restored");
                transcript.note(
                    "[The work moved to another machine, and the files made so far were lost. Make again what is needed.]",
                );
            }
        }
    }
    Ok(history.replay(transcript))
}
