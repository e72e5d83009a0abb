//! Downloads of the files of jobs.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use shared::asset::{Asset, file_name};
use shared::id::JobId;
use shared::job::Output;
use skillet_client::Client;

/// The handling of a file that already exists.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Existing {
    /// The existing file is kept, and the new file gets a number: `a-2.csv`.
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

/// Saves the outputs of a job under their names and returns the paths. Outputs with the same name get different file
/// names.
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
            format!("not all files were saved; download them from the service: skillet jobs download {job} -o DIR")
        })?);
    }
    Ok(saved)
}

/// Saves an asset under its name, or under a numbered one, and returns the path. A failed download leaves no new file
/// and does not change an existing one.
pub(crate) async fn save_asset(
    client: &Client,
    asset: &Asset,
    directory: &Path,
    existing: Existing,
) -> anyhow::Result<PathBuf> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    // The service sends plain file names, but the server may be another program.
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

/// Creates an empty file with this name, or with the first free name of `a-2.csv`, `a-3.csv`, …
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
    bail!(
        "too many files with names like {name} in {}; choose another directory",
        directory.display()
    )
}
