//! Downloaded inputs, kept for later attempts.

use std::collections::BTreeMap;

use futures_util::{StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};
use shared::asset::{AssetStore, Upload, WorkspaceStore};
use shared::id::JobId;

use super::Chunks;

/// The object in a job's workspace store that lists the kept inputs.
const LIST: &str = "inputs";

/// Downloaded inputs, kept for later attempts. The URL may be unavailable by then, or have different content.
pub(super) struct KeptInputs {
    assets: AssetStore,
    workspace_store: WorkspaceStore,
    by_place: BTreeMap<usize, KeptInput>,
    is_listed: bool,
}

#[derive(Clone, Serialize, Deserialize)]
struct KeptInput {
    name: String,
    sha256: String,
}

impl KeptInputs {
    /// Opens the kept inputs of a job. Earlier attempts may have kept some.
    pub(super) async fn open(
        assets: &AssetStore,
        job: JobId,
        attempt: i32,
    ) -> anyhow::Result<Self> {
        let workspace_store = assets.workspace_store(job);
        let by_place = if attempt > 1 {
            match workspace_store.read(LIST).await {
                Ok(chunks) => {
                    let json: Vec<u8> = chunks.map_ok(Vec::from).try_concat().await?;
                    serde_json::from_slice(&json)?
                }
                Err(error) if error.is_not_found() => BTreeMap::new(),
                Err(error) => return Err(error.into()),
            }
        } else {
            BTreeMap::new()
        };
        Ok(Self {
            assets: assets.clone(),
            workspace_store,
            by_place,
            is_listed: true,
        })
    }

    /// Returns the name and the content of the input at `place`, if it was kept.
    pub(super) async fn get(&self, place: usize) -> anyhow::Result<Option<(String, Chunks)>> {
        let Some(kept) = self.by_place.get(&place) else {
            return Ok(None);
        };
        let chunks = self.workspace_store.read(&kept.sha256).await?;
        Ok(Some((
            kept.name.clone(),
            chunks.map_err(anyhow::Error::from).boxed(),
        )))
    }

    /// Returns the upload for the copy of an input that is not kept yet.
    pub(super) fn copy(&self) -> Upload {
        self.assets.upload()
    }

    /// Keeps the copy of an input.
    pub(super) async fn keep(
        &mut self,
        place: usize,
        name: String,
        copy: Upload,
    ) -> anyhow::Result<()> {
        let sealed = copy.seal().await?;
        let sha256 = sealed.sha256.clone();
        self.workspace_store.put(sealed).await?;
        self.by_place.insert(place, KeptInput { name, sha256 });
        self.is_listed = false;
        Ok(())
    }

    /// Writes the list, after all inputs are kept.
    pub(super) async fn close(self) -> anyhow::Result<()> {
        if !self.is_listed {
            let mut list = self.assets.upload();
            list.push(&serde_json::to_vec(&self.by_place)?).await?;
            self.workspace_store
                .put_as(LIST, list.seal().await?)
                .await?;
        }
        Ok(())
    }
}
