//! Files of jobs on this machine.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use shared::asset::{Asset, file_name};
use shared::id::JobId;
use shared::job::Output;
use skillet_client::Client;

/// The treatment of a file that exists already.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// It stays, and the new file gets a number: `a-2.csv`.
    Keep,
    Overwrite,
}

impl Existing {
    pub(crate) fn overwrite_if(overwrite: bool) -> Self {
        if overwrite {
            Self::Overwrite
        } else {
            Self::Keep
        }
    }
}

/// Saves the outputs of a job under their names; returns where. Two of the same name get different ones.
pub(crate) async fn save_outputs(
    client: &Client,
    job: JobId,
    outputs: &[Output],
    directory: &Path,
    existing: Existing,
) -> anyhow::Result<Vec<PathBuf>> {
    let mut saved = Vec::new();
    for Output { asset, .. } in outputs {
        // A file that this call has saved is never overwritten.
        let existing = match saved.contains(&directory.join(file_name(&asset.name))) {
            true => Existing::Keep,
            false => existing,
        };
        let path = save_asset(client, asset, directory, existing).await;
        saved.push(path.with_context(|| {
            format!("not all files are saved here; the service has them: skillet jobs download {job} -o DIR")
        })?);
    }
    Ok(saved)
}

/// Saves an asset under its name or another one; returns where. A download that failed leaves nothing, and an existing
/// file as it was.
pub(crate) async fn save_asset(
    client: &Client,
    asset: &Asset,
    directory: &Path,
    existing: Existing,
) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    // The service says so, but it may not be ours.
    let name = file_name(&asset.name);
    match existing {
        Existing::Keep => {
            let path = reserve(directory, &name)?;
            let downloaded = client.download(asset, &path).await;
            if downloaded.is_err() {
                let _ = std::fs::remove_file(&path);
            }
            Ok(downloaded?)
        }
        Existing::Overwrite => {
            let path = directory.join(name);
            ensure!(!path.is_dir(), "{} is a folder", path.display());
            Ok(client.download(asset, &path).await?)
        }
    }
}

/// Creates an empty file of that name, or of the first free one of `a-2.csv`, `a-3.csv`, …
fn reserve(directory: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let (stem, extension) = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, format!(".{extension}")),
        _ => (name, String::new()),
    };
    let numbered = (2..=u32::MAX).map(|number| format!("{stem}-{number}{extension}"));
    for name in std::iter::once(name.to_owned()).chain(numbered) {
        let path = directory.join(name);
        match File::create_new(&path) {
            Ok(_) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot write {}", path.display()));
            }
        }
    }
    bail!("all names like {name} are taken in {}", directory.display())
}
