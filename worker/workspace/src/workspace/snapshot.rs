//! Snapshots of a workspace in the asset store, which the next worker restores.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use futures_util::TryStreamExt;
use serde::{Deserialize, Serialize};
use shared::asset::{AssetStore, StoreError, WorkspaceStore};
use shared::event::WorkspaceSaved;
use shared::id::JobId;

use super::Workspace;
use super::survey::{FileSize, Stamp, SurveyEntryKind};

/// The maximum number of bytes that one attempt stores, in all its saves together. Replaced content is deleted only
/// with the job, so a command that rewrites large files would fill the store. Files beyond the limit are left out.
const MAX_KEPT_BYTES: u64 = 16 * 1024 * 1024 * 1024;
/// The maximum number of file names in a message to the model. Further files are only counted.
const MAX_NAMED: usize = 20;

/// The entries of a workspace, by path from its root.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Manifest {
    entries: BTreeMap<String, SnapshotEntry>,
    /// Paths of entries that were too large or unreadable.
    left_out: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
enum SnapshotEntry {
    /// An input or a part of the skill, unchanged since it was staged. It is staged again before a restore.
    Staged,
    File {
        sha256: String,
        size: u64,
        mode: u32,
    },
    Link {
        target: String,
    },
    Directory {
        mode: u32,
    },
}

/// The snapshots of one job's workspace. Each save stores only the changes.
pub struct Snapshots {
    assets: AssetStore,
    workspace_store: WorkspaceStore,
    /// The stored content of each file at its last known stamp.
    known: BTreeMap<String, (Stamp, SnapshotEntry)>,
    /// The staged directories with their modes.
    staged_directories: BTreeMap<String, u32>,
    saved: Manifest,
    /// Whether the store contains anything for this workspace.
    has_kept: bool,
    /// The bytes of all files that this attempt stored, including replaced content.
    kept_bytes: u64,
}

impl Snapshots {
    /// Starts with a workspace that contains only staged files. Files that the next attempt stages again at the same
    /// path are not saved. The inputs of a workspace that is shared with later jobs are saved, because those jobs have
    /// other inputs.
    pub async fn begin(
        assets: &AssetStore,
        job: JobId,
        workspace: &Arc<Workspace>,
        is_restaged: impl Fn(&str) -> bool,
    ) -> anyhow::Result<Self> {
        let workspace_store = assets.workspace_store(job);
        let mut snapshots = Self {
            assets: assets.clone(),
            workspace_store,
            known: BTreeMap::new(),
            staged_directories: BTreeMap::new(),
            saved: Manifest::default(),
            has_kept: false,
            kept_bytes: 0,
        };
        let survey = Workspace::look(workspace).await?;
        for found in survey.found {
            match found.kind {
                SurveyEntryKind::File { stamp, .. } if is_restaged(&found.path) => {
                    let known = (stamp, SnapshotEntry::Staged);
                    snapshots.known.insert(found.path.clone(), known);
                }
                SurveyEntryKind::Directory { mode } if is_restaged(&found.path) => {
                    let path = found.path.clone();
                    snapshots.staged_directories.insert(path, mode);
                }
                _ => {}
            }
            snapshots
                .saved
                .entries
                .insert(found.path, SnapshotEntry::Staged);
        }
        Ok(snapshots)
    }

    /// Records that the store contains something that others saved.
    pub fn note_kept(&mut self) {
        self.has_kept = true;
    }

    /// Saves the workspace. Returns `None` if it has not changed.
    pub async fn save(
        &mut self,
        workspace: &Arc<Workspace>,
    ) -> anyhow::Result<Option<WorkspaceSaved>> {
        let survey = Workspace::look(workspace).await?;
        let mut manifest = Manifest {
            entries: BTreeMap::new(),
            left_out: survey.left_out,
        };
        for found in survey.found {
            let entry = match found.kind {
                SurveyEntryKind::Directory { mode } => {
                    match self.staged_directories.get(&found.path) {
                        Some(staged) if *staged == mode => SnapshotEntry::Staged,
                        _ => SnapshotEntry::Directory { mode },
                    }
                }
                SurveyEntryKind::Link { target } => SnapshotEntry::Link { target },
                SurveyEntryKind::File { mode, stamp } => match self.known.get(&found.path) {
                    Some((known, entry)) if *known == stamp => entry.clone(),
                    _ => {
                        let Some(entry) = self.keep(workspace, &found.path, mode).await? else {
                            manifest.left_out.push(found.path);
                            continue;
                        };
                        self.known
                            .insert(found.path.clone(), (stamp, entry.clone()));
                        entry
                    }
                },
            };
            manifest.entries.insert(found.path, entry);
        }
        if manifest == self.saved {
            return Ok(None);
        }
        self.has_kept = true;
        let saved = self.keep_manifest(&manifest).await?;
        self.saved = manifest;
        Ok(Some(saved))
    }

    /// Stores a file's content. Returns `None` if it is not a regular file any more, or if the attempt has reached its
    /// limit.
    async fn keep(
        &mut self,
        workspace: &Workspace,
        path: &str,
        mode: u32,
    ) -> anyhow::Result<Option<SnapshotEntry>> {
        let Ok(file) = workspace.open_own(path) else {
            return Ok(None);
        };
        if self.kept_bytes >= MAX_KEPT_BYTES {
            return Ok(None);
        }
        let mut upload = self.assets.upload();
        upload.push_all(file).await?;
        let sealed = upload.seal().await?;
        let entry = SnapshotEntry::File {
            sha256: sealed.sha256.clone(),
            size: sealed.size,
            mode,
        };
        self.kept_bytes += sealed.size;
        self.workspace_store.put(sealed).await?;
        Ok(Some(entry))
    }

    async fn keep_manifest(&self, manifest: &Manifest) -> anyhow::Result<WorkspaceSaved> {
        let mut upload = self.assets.upload();
        upload.push(&serde_json::to_vec(manifest)?).await?;
        let sealed = upload.seal().await?;
        let sizes = manifest.entries.values().filter_map(|entry| match entry {
            SnapshotEntry::File { size, .. } => Some(*size),
            _ => None,
        });
        let (files, bytes) = sizes.fold((0, 0), |(files, bytes), size| (files + 1, bytes + size));
        let saved = WorkspaceSaved {
            manifest: sealed.sha256.clone(),
            files,
            bytes,
        };
        self.workspace_store.put(sealed).await?;
        Ok(saved)
    }

    /// Restores the state in a manifest to a workspace that contains only staged files. Returns a description of the
    /// files that could not be kept, for the model.
    pub async fn restore(
        &mut self,
        workspace: &Arc<Workspace>,
        manifest: &str,
    ) -> anyhow::Result<Option<String>> {
        self.has_kept = true;
        let manifest = read_manifest(&self.workspace_store, manifest).await?;
        // In reverse order, because the content of a directory sorts after it and must be removed first.
        for staged in self.saved.entries.keys().rev() {
            let is_directory = self.staged_directories.contains_key(staged);
            match manifest.entries.get(staged) {
                Some(SnapshotEntry::Staged) => {}
                Some(SnapshotEntry::Directory { mode }) if is_directory => {
                    workspace.set_directory_mode(staged, mode | 0o700)?;
                }
                _ if is_directory => workspace.remove_directory(staged)?,
                _ => workspace.remove_file(staged)?,
            }
        }
        // Directories sort before their content. Links come last, so that no file is written through a link.
        for (path, entry) in &manifest.entries {
            let is_there = matches!(entry, SnapshotEntry::Directory { .. })
                && self.staged_directories.contains_key(path);
            if !is_there {
                restore_entry(&self.workspace_store, workspace, path, entry).await?;
            }
        }
        for (path, entry) in &manifest.entries {
            if let SnapshotEntry::Link { target } = entry {
                workspace.create_link(path, target)?;
            }
        }
        for found in Workspace::look(workspace).await?.found {
            if let (SurveyEntryKind::File { stamp, .. }, Some(entry)) =
                (found.kind, manifest.entries.get(&found.path))
            {
                self.known.insert(found.path, (stamp, entry.clone()));
            }
        }
        let lost = (!manifest.left_out.is_empty()).then(|| describe(&manifest.left_out));
        self.saved = manifest;
        Ok(lost)
    }

    /// Adds the files that another job left to a workspace with staged inputs. An input takes precedence over a file
    /// or folder of the same name. Returns a description of the files that could not be kept or are gone, for the
    /// model.
    pub async fn take_over(
        &self,
        workspace: &Arc<Workspace>,
        from: JobId,
        manifest: &str,
    ) -> anyhow::Result<Option<String>> {
        let workspace_store = self.assets.workspace_store(from);
        let manifest = match read_manifest(&workspace_store, manifest).await {
            Ok(manifest) => manifest,
            Err(error) if is_gone(&error) => return Ok(Some("all of them".to_owned())),
            Err(error) => return Err(error),
        };
        let mut missing = manifest.left_out;
        let is_free = |path: &str| {
            let top = path.split('/').next().unwrap_or_default();
            !self.saved.entries.contains_key(top)
        };
        let entries = manifest.entries.iter().filter(|(path, _)| is_free(path));
        for (path, entry) in entries.clone() {
            match restore_entry(&workspace_store, workspace, path, entry).await {
                Ok(()) => {}
                Err(error) if is_gone(&error) => missing.push(path.clone()),
                Err(error) => return Err(error),
            }
        }
        for (path, entry) in entries {
            if let SnapshotEntry::Link { target } = entry {
                workspace.create_link(path, target)?;
            }
        }
        Ok((!missing.is_empty()).then(|| describe(&missing)))
    }

    /// Returns the files of a saved workspace, by path.
    pub async fn list(&self, manifest: &str) -> anyhow::Result<Vec<FileSize>> {
        let manifest = read_manifest(&self.workspace_store, manifest).await?;
        let files = manifest
            .entries
            .into_iter()
            .filter_map(|(path, entry)| match entry {
                SnapshotEntry::File { size, .. } => Some(FileSize { path, size }),
                _ => None,
            });
        Ok(files.collect())
    }

    /// Deletes everything that was saved. The job has ended.
    pub async fn clear(self) -> anyhow::Result<()> {
        if self.has_kept {
            self.workspace_store.clear().await?;
        }
        Ok(())
    }
}

async fn read_manifest(workspace_store: &WorkspaceStore, sha256: &str) -> anyhow::Result<Manifest> {
    let chunks = workspace_store.read(sha256).await?;
    let json: Vec<u8> = chunks.map_ok(Vec::from).try_concat().await?;
    Ok(serde_json::from_slice(&json)?)
}

/// Restores an entry from a workspace store. The caller restores links.
async fn restore_entry(
    workspace_store: &WorkspaceStore,
    workspace: &Workspace,
    path: &str,
    entry: &SnapshotEntry,
) -> anyhow::Result<()> {
    match entry {
        SnapshotEntry::Staged | SnapshotEntry::Link { .. } => {}
        // A directory that is closed to its owner could not be filled now.
        SnapshotEntry::Directory { mode } => workspace.create_directory(path, mode | 0o700)?,
        SnapshotEntry::File { sha256, mode, .. } => {
            let mut chunks = workspace_store.read(sha256).await?;
            let mut file = workspace.create_file(path, *mode)?;
            while let Some(chunk) = chunks.try_next().await? {
                file.write_all(&chunk)?;
            }
        }
    }
    Ok(())
}

fn is_gone(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<StoreError>();
    error.is_some_and(StoreError::is_not_found)
}

fn describe(left_out: &[String]) -> String {
    let named = left_out
        .iter()
        .take(MAX_NAMED)
        .map(String::as_str)
        .collect::<Vec<_>>()
        .join(", ");
    match left_out.len().saturating_sub(MAX_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

#[cfg(test)]
mod tests;
