//! The store's folder on the file system, with unfinished files, which `object_store` does not list.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chrono::{DateTime, Utc};

use super::failure::StoreError;

/// The folder of uploads whose hash is not known yet.
pub(super) const INCOMING: &str = "incoming";
/// The folder of saved workspaces.
pub(super) const WORKSPACES: &str = "workspaces";

/// The root folder of a store on the file system.
#[derive(Clone)]
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn new(root: &Path) -> Self {
        Self(root.to_owned())
    }

    pub(super) fn root(&self) -> &Path {
        &self.0
    }

    /// Removes uploads that were last written before an instant, and unfinished files in saved workspaces.
    pub(super) async fn sweep_uploads(&self, before: DateTime<Utc>) -> Result<(), StoreError> {
        let (incoming, workspaces) = (self.0.join(INCOMING), self.0.join(WORKSPACES));
        blocking(move || {
            remove_old(&incoming, before.into(), |_| true)?;
            for job in list(&workspaces)? {
                remove_old(&job, before.into(), is_unfinished)?;
            }
            Ok(())
        })
        .await
    }

    /// Removes unfinished files in a subfolder that were last written before an instant.
    pub(super) async fn sweep_unfinished(
        &self,
        folder: PathBuf,
        before: DateTime<Utc>,
    ) -> Result<(), StoreError> {
        let folder = self.0.join(folder);
        blocking(move || remove_old(&folder, before.into(), is_unfinished)).await
    }

    /// Removes a saved workspace with its files. Also removes the folder of workspaces if it becomes empty.
    pub(super) async fn remove_workspace(&self, name: &str) -> Result<(), StoreError> {
        let workspaces = self.0.join(WORKSPACES);
        let folder = workspaces.join(name);
        blocking(move || {
            ignore_missing(fs::remove_dir_all(folder))?;
            match fs::remove_dir(workspaces) {
                Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
                removed => ignore_missing(removed),
            }
        })
        .await
    }
}

async fn blocking(
    work: impl FnOnce() -> io::Result<()> + Send + 'static,
) -> Result<(), StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(io::Error::other)??)
}

/// The paths of a folder's entries. Empty if the folder does not exist.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Deletes the files of a folder that were last written before an instant and whose names match.
fn remove_old(
    folder: &Path,
    before: SystemTime,
    is_such: fn(name: &str) -> bool,
) -> io::Result<()> {
    for path in list(folder)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !is_such(&name) {
            continue;
        }
        // Another process can finish or remove the file at the same time.
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            continue;
        };
        if metadata.is_file() && metadata.modified()? < before {
            ignore_missing(fs::remove_file(path))?;
        }
    }
    Ok(())
}

/// Whether the name is one that `object_store` gives to an unfinished file: `…#1`.
fn is_unfinished(name: &str) -> bool {
    let (_, number) = name.rsplit_once('#').unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn ignore_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        done => done,
    }
}
