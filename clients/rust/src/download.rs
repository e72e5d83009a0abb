//! Downloads of assets to files.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use reqwest::Method;
use ring::digest::{Context, SHA256};
use skillet_wire::asset::Asset;
use tokio::time::timeout;

use crate::connection::{ANSWER_TIMEOUT, ServiceConnection};
use crate::error::Error;
use crate::random::random_hex;

/// Downloads an asset to a file, or to a folder under the asset's name.
pub(crate) async fn download(
    connection: &ServiceConnection,
    asset: &Asset,
    to: &Path,
) -> Result<PathBuf, Error> {
    let target = if to.is_dir() {
        // The service sends names without folders. The client does not rely on it.
        to.join(
            Path::new(&asset.name)
                .file_name()
                .unwrap_or("file".as_ref()),
        )
    } else {
        to.to_owned()
    };
    let path = format!("/v1/assets/{}/content", asset.id);
    let request = connection.request(Method::GET, &path);
    let mut response = connection.send(request).await?;
    let mut file = PartialFile::create(target)?;
    loop {
        let chunk = timeout(ANSWER_TIMEOUT, response.chunk()).await;
        let chunk = chunk.map_err(|_| connection.timed_out(ANSWER_TIMEOUT))?;
        match chunk.map_err(|cause| connection.lost(cause))? {
            Some(chunk) => file.write(&chunk)?,
            None => return file.finish(asset),
        }
    }
}

/// A file with a temporary name until its download is complete. Dropping an incomplete file deletes it.
struct PartialFile {
    file: File,
    temporary: PathBuf,
    target: PathBuf,
    hash: Context,
}

impl PartialFile {
    fn create(target: PathBuf) -> Result<Self, Error> {
        let temporary = target.with_file_name(format!(".skillet-{}.part", random_hex()));
        let file = File::create_new(&temporary).map_err(|cause| cannot_write(&target, cause))?;
        Ok(Self {
            file,
            temporary,
            target,
            hash: Context::new(&SHA256),
        })
    }

    fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.hash.update(chunk);
        let written = self.file.write_all(chunk);
        written.map_err(|cause| cannot_write(&self.target, cause))
    }

    /// Checks the SHA-256 and renames the file to its target. Replaces an existing file.
    fn finish(self, asset: &Asset) -> Result<PathBuf, Error> {
        let actual = hex::encode(self.hash.clone().finish());
        if actual != asset.sha256 {
            return Err(Error::Checksum {
                name: asset.name.clone(),
                actual,
                expected: asset.sha256.clone(),
            });
        }
        let renamed = fs::rename(&self.temporary, &self.target);
        renamed.map_err(|cause| cannot_write(&self.target, cause))?;
        Ok(self.target.clone())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        // After a rename, the temporary file no longer exists.
        let _ = fs::remove_file(&self.temporary);
    }
}

fn cannot_write(path: &Path, cause: io::Error) -> Error {
    Error::File {
        action: "write",
        path: path.to_owned(),
        cause,
    }
}
