//! The skill that a job runs: the worker's own, or the version that its tenant had uploaded when the job was accepted.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use futures_util::TryStreamExt;
use shared::job::Job;
use shared::skill::{FilePath, Files, Skill, SkillFile};
use shared::stored::UnreadableRow;
use tokio::time::timeout;

use crate::worker_context::WorkerContext;
use worker_tool::SKILL_FOLDER;
use worker_workspace::Workspace;

/// The timeout for loading a skill from the store. After it, the attempt fails.
const LOAD_TIMEOUT: Duration = Duration::from_secs(60);

/// Loads the skill of a job. Returns `None` if the job runs an agent.
pub(crate) async fn load(context: &WorkerContext, job: &Job) -> anyhow::Result<Option<Arc<Skill>>> {
    let Some(name) = &job.skill else {
        return Ok(None);
    };
    let skill = match job.skill_version {
        None => context.catalog.get(name).cloned(),
        Some(_) => {
            let digest = job.skill_digest.as_deref().unwrap_or_default();
            Some(load_stored(context, name, digest).await?)
        }
    };
    skill
        .context("the skill of the claimed job is not on this worker")
        .map(Some)
}

/// Loads a version of an uploaded skill, with a timeout.
pub(crate) async fn load_stored(
    context: &WorkerContext,
    name: &str,
    digest: &str,
) -> anyhow::Result<Arc<Skill>> {
    let loading = timeout(LOAD_TIMEOUT, load_version(context, name, digest));
    loading.await.context("the asset store takes too long")?
}

async fn load_version(
    context: &WorkerContext,
    name: &str,
    digest: &str,
) -> anyhow::Result<Arc<Skill>> {
    let chunks = context.assets.read(digest, None).await?;
    let packed: Vec<u8> = chunks.map_ok(Vec::from).try_concat().await?;
    let name = name.to_owned();
    let reading = move || {
        let files = Files::unpack_stored(&packed)?;
        // The release that accepted the skill could read it.
        let skill = Skill::read(Some(&name), files);
        anyhow::Ok(skill.map_err(|error| UnreadableRow::new("the job's skill", error))?)
    };
    let skill = tokio::task::spawn_blocking(reading).await??;
    anyhow::ensure!(
        skill.digest == digest,
        "the asset store has another skill under {digest}"
    );
    Ok(Arc::new(skill))
}

/// Writes the files beside the `SKILL.md` into a workspace that has no [`SKILL_FOLDER`] yet. This blocks.
pub(crate) fn stage(files: &Files, workspace: &Workspace) -> io::Result<()> {
    stage_in(SKILL_FOLDER, files.beside(), workspace)
}

/// Writes files of a skill into a folder that does not exist in the workspace yet. This blocks.
pub(crate) fn stage_in<'a>(
    place: &str,
    files: impl Iterator<Item = (&'a FilePath, &'a SkillFile)>,
    workspace: &Workspace,
) -> io::Result<()> {
    let mut made = BTreeSet::new();
    for (path, file) in files {
        let folders = path.folders().map(|folder| format!("{place}/{folder}"));
        for folder in std::iter::once(place.to_owned()).chain(folders) {
            if made.insert(folder.clone()) {
                workspace.create_directory(&folder, 0o755)?;
            }
        }
        // Writable, so that copies of the files are writable too.
        let mode = if file.is_executable { 0o755 } else { 0o644 };
        let mut staged = workspace.create_file(&format!("{place}/{path}"), mode)?;
        staged.write_all(&file.content)?;
    }
    Ok(())
}
