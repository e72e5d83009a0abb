//! The files of a workspace before the loop runs: inputs, files of the conversation's previous job, and
//! files of earlier attempts.

use std::sync::Arc;

use shared::conversation::ConversationPosition;
use shared::db;
use shared::db::claim::Claimed;
use shared::event::EventData;
use shared::job::Input;

use crate::agent_skills::AgentSkills;
use crate::attempt_error::AttemptError;
use crate::history::History;
use crate::log::JobLog;
use crate::worker_context::WorkerContext;
use worker_tool::EventSink;
use worker_workspace::{FileSize, Snapshots, Workspace};

/// Whether the job's agent has skills, whose files each attempt stages.
fn has_skills(claimed: &Claimed) -> bool {
    let agent = claimed.request.agent.as_ref();
    agent.is_some_and(|agent| !agent.settings.skills.is_empty())
}

/// The files of a job.
pub(super) struct JobFiles {
    pub(super) snapshots: Snapshots,
    /// The files at the start of the first attempt.
    pub(super) at_first: Vec<FileSize>,
    /// Notes for the model about missing files.
    pub(super) notes: Vec<String>,
}

impl JobFiles {
    /// Completes a workspace that contains only staged files.
    pub(super) async fn prepare(
        context: &WorkerContext,
        claimed: &Claimed,
        log: &JobLog,
        workspace: &Arc<Workspace>,
        history: &History,
    ) -> Result<Self, AttemptError> {
        let is_shared = claimed.position.is_some();
        let has_skills = has_skills(claimed);
        let is_skill = |path: &str| has_skills && AgentSkills::contains(path);
        let is_restaged = |path: &str| !is_shared || is_skill(path);
        let snapshots = Snapshots::begin(&context.assets, claimed.job.id, workspace, is_restaged);
        let mut files = Self {
            snapshots: snapshots.await.map_err(AttemptError::Internal)?,
            at_first: Vec::new(),
            notes: Vec::new(),
        };
        let inputs = &claimed.request.inputs;
        if inputs.iter().any(|it| matches!(it, Input::Url { .. })) {
            files.snapshots.note_kept();
        }
        if let Some(position) = claimed.position
            && history.manifest().is_none()
        {
            files.take_over(context, position, log, workspace).await?;
        }
        let first = match history.first_manifest() {
            Some(manifest) if is_shared => files.snapshots.list(manifest).await,
            _ => Workspace::list(workspace).await,
        };
        // The restore below reports lost files.
        files.at_first = first.unwrap_or_default();
        files.at_first.retain(|file| !is_skill(&file.path));
        if let Some(manifest) = history.manifest() {
            files.restore(claimed, log, workspace, manifest).await?;
        }
        Ok(files)
    }

    /// Takes over the files of the conversation's previous job, saves them as this job's own, and clears the previous
    /// job's store.
    async fn take_over(
        &mut self,
        context: &WorkerContext,
        position: ConversationPosition,
        log: &JobLog,
        workspace: &Arc<Workspace>,
    ) -> Result<(), AttemptError> {
        let before = db::conversation::get_workspace(&context.pool, position)
            .await
            .map_err(AttemptError::internal)?;
        if let Some(before) = &before {
            let taken = self
                .snapshots
                .take_over(workspace, before.job, &before.manifest)
                .await
                .map_err(AttemptError::Internal)?;
            if let Some(lost) = taken {
                self.notes
                    .push(format!("[These earlier files are missing: {lost}.]"));
            }
        }
        match self.snapshots.save(workspace).await {
            Ok(None) => return Ok(()),
            Ok(Some(saved)) => {
                let saved = EventData::WorkspaceSaved(saved);
                log.commit(saved).await.map_err(AttemptError::internal)?;
            }
            Err(error) => {
                let error = format!("{error:#}");
                let error = log.redact(&error);
                tracing::warn!(%error, "a workspace could not be saved");
                return Ok(());
            }
        }
        if let Some(before) = before
            && let Err(error) = context.assets.workspace_store(before.job).clear().await
        {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(job = %before.job, error, "could not delete a saved workspace");
        }
        Ok(())
    }

    /// Restores the workspace as the previous attempt left it.
    async fn restore(
        &mut self,
        claimed: &Claimed,
        log: &JobLog,
        workspace: &Arc<Workspace>,
        manifest: &str,
    ) -> Result<(), AttemptError> {
        let note = match self.snapshots.restore(workspace, manifest).await {
            Ok(None) => return Ok(()),
            Ok(Some(lost)) => format!(
                "[The work moved to another machine. These files were too large to move: {lost}.]"
            ),
            // The files still exist, so the next attempt may be able to restore them.
            Err(error)
                if error
                    .downcast_ref()
                    .is_some_and(shared::asset::StoreError::is_outage) =>
            {
                return Err(AttemptError::Internal(error));
            }
            Err(error) => {
                let error = format!("{error:#}");
                let error = log.redact(&error);
                tracing::error!(job = %claimed.job.id, %error, "a workspace could not be restored");
                "[The work moved to another machine, and the files made so far were lost. Create the files that you need again.]"
                    .to_owned()
            }
        };
        self.notes.push(note);
        Ok(())
    }
}
