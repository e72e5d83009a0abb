//! Packages that uploaded skills name in `requirements.txt` and `package.json`: installed once per version of a skill,
//! into a layer that its jobs can read.

mod index;
mod install;

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use shared::db;
use shared::db::skill_packages;
use shared::skill::{Files, Skill};
use tokio::sync::{Mutex, Semaphore};
use worker_sandbox::{Sandbox, remove_tree};

/// The folders of a skill that may contain requirement files, relative to its `SKILL.md`.
const FOLDERS: [&str; 2] = ["", "scripts/"];
/// The names of requirement files. The last one only determines the versions.
const FILES: [&str; 3] = ["requirements.txt", "package.json", "package-lock.json"];
/// The time after which a failed installation is tried again, because an index may have been down.
const RETRY_AFTER: Duration = Duration::from_secs(10 * 60);

/// The parts of a worker that an installation needs.
#[derive(Clone, Copy)]
pub(crate) struct PackageInstaller<'a> {
    pub(crate) pool: &'a db::Pool,
    pub(crate) sandbox: &'a Sandbox,
    /// Permits for commands that run at the same time.
    pub(crate) command_permits: &'a Semaphore,
    /// Private networks that the operator allows.
    pub(crate) egress_allowed: &'a Arc<[IpNet]>,
    /// The folder of the workspaces.
    pub(crate) workspaces: &'a Path,
}

/// The layers of a worker.
pub(crate) struct PackageLayers {
    /// The folder that contains one folder per skill digest.
    folder: PathBuf,
    /// The host and the data directory, for display.
    place: String,
    layers: std::sync::Mutex<HashMap<String, Arc<Mutex<LayerState>>>>,
}

/// The state of a layer. The task that installs it holds the lock, and the others wait.
#[derive(Default)]
enum LayerState {
    #[default]
    Unknown,
    Installed,
    Failed {
        at: Instant,
        trouble: String,
    },
}

/// The packages of a job.
#[derive(Default)]
pub(crate) struct JobPackages {
    /// The skills whose packages are installed, each with its layer.
    pub(crate) layers: Vec<(String, PathBuf)>,
    /// The skills whose packages could not be installed, each with a reason for display.
    pub(crate) troubles: Vec<(String, String)>,
}

impl JobPackages {
    /// Returns the folders of the layers.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        let layers = self.layers.iter();
        layers.map(|(_, folder)| folder.clone()).collect()
    }

    /// Whether the packages that a skill names are installed.
    pub(crate) fn has(&self, skill: &Skill) -> bool {
        self.layers.iter().any(|(name, _)| *name == skill.name)
    }
}

impl PackageLayers {
    /// Opens the layers in the data directory of a worker.
    pub(crate) fn open(home: &Path) -> io::Result<Self> {
        let folder = home.join("packages");
        fs::create_dir_all(&folder)?;
        install::allow_traversal(&folder)?;
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        Ok(Self {
            folder,
            place: format!("{host}:{}", home.display()),
            layers: std::sync::Mutex::default(),
        })
    }

    /// Returns the layer with the packages of an uploaded skill, and installs it if necessary. `None` if the skill
    /// names no packages. An error is a message for people.
    pub(crate) async fn of(
        &self,
        installer: PackageInstaller<'_>,
        skill: &Skill,
    ) -> Result<Option<PathBuf>, String> {
        let files = requirement_files(&skill.files);
        if files.is_empty() {
            return Ok(None);
        }
        let state = {
            let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
            layers.entry(skill.digest.clone()).or_default().clone()
        };
        let mut state = state.lock().await;
        let layer = self.folder.join(&skill.digest);
        let is_due = match &*state {
            // Another worker's garbage collection or the operator may have deleted the folder.
            LayerState::Installed => !layer.is_dir(),
            LayerState::Unknown => true,
            LayerState::Failed { at, .. } => at.elapsed() > RETRY_AFTER,
        };
        if is_due {
            if let Err(error) = self.collect_garbage(installer.pool).await {
                let error = format!("{error:#}");
                tracing::warn!(error, "could not delete packages of deleted skills");
            }
            *state = match installer.install(&files, &layer).await {
                Ok(()) => LayerState::Installed,
                Err(trouble) => LayerState::Failed {
                    at: Instant::now(),
                    trouble,
                },
            };
            let trouble = match &*state {
                LayerState::Failed { trouble, .. } => Some(trouble.as_str()),
                _ => None,
            };
            self.report(installer.pool, &skill.digest, trouble).await;
        }
        match &*state {
            LayerState::Failed { trouble, .. } => Err(trouble.clone()),
            _ => Ok(Some(layer)),
        }
    }

    /// Records the result of an installation in the database, for display with the skill.
    async fn report(&self, pool: &db::Pool, digest: &str, trouble: Option<&str>) {
        let put = skill_packages::put(pool, &self.place, digest, trouble);
        if let Err(error) = put.await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                digest,
                error,
                "the outcome of an installation could not be recorded"
            );
        }
    }

    /// Deletes layers of versions that no tenant has any more. The version of a running job is never one of them,
    /// unless it belongs to a skill of an agent that was deleted in the meantime.
    pub(crate) async fn collect_garbage(&self, pool: &db::Pool) -> anyhow::Result<()> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            found.extend(entry?.file_name().into_string());
        }
        let kept = skill_packages::stored(pool, &found).await?;
        for digest in found.into_iter().filter(|digest| !kept.contains(digest)) {
            let layer = self.folder.join(&digest);
            let removing = tokio::task::spawn_blocking(move || remove_tree(&layer));
            removing.await??;
            let mut layers = self.layers.lock().unwrap_or_else(PoisonError::into_inner);
            layers.remove(&digest);
        }
        Ok(skill_packages::delete_unstored(pool, &self.place).await?)
    }
}

/// Returns the files that name packages, by their paths in the skill.
fn requirement_files(files: &Files) -> Vec<(String, Vec<u8>)> {
    let paths = FOLDERS
        .iter()
        .flat_map(|folder| FILES.map(|file| format!("{folder}{file}")));
    let found = paths.filter_map(|path| {
        let mut beside = files.beside();
        let (_, file) = beside.find(|(it, _)| it.as_str() == path)?;
        Some((path, file.content.to_vec()))
    });
    let found: Vec<_> = found.collect();
    let names_packages = found
        .iter()
        .any(|(path, _)| !path.ends_with("package-lock.json"));
    if names_packages { found } else { Vec::new() }
}
