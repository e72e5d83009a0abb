//! The workspace store: snapshots of the workspaces of unfinished jobs.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use super::SealedUpload;
use super::failure::StoreError;
use super::folder::{Folder, WORKSPACES};
use super::store::{AssetStore, Place};
use crate::id::JobId;

/// The saved files of one job's workspace, addressed by SHA-256. They are removed when the job ends.
pub struct WorkspaceStore {
    objects: Arc<dyn ObjectStore>,
    /// The folder of the store; `None` for a bucket.
    root: Option<Folder>,
    job: JobId,
}

impl AssetStore {
    /// Returns the saved workspace of an unfinished job.
    pub fn workspace_store(&self, job: JobId) -> WorkspaceStore {
        let folder = match &*self.place {
            Place::Folder(folder) => Some(folder.clone()),
            Place::Bucket(_) => None,
        };
        WorkspaceStore::new(self.workspaces.clone(), folder, job)
    }

    /// Lists the jobs that have a saved workspace.
    pub async fn list_workspaces(&self) -> Result<Vec<JobId>, StoreError> {
        WorkspaceStore::list(&*self.workspaces).await
    }
}

impl WorkspaceStore {
    pub(super) fn new(objects: Arc<dyn ObjectStore>, root: Option<Folder>, job: JobId) -> Self {
        Self { objects, root, job }
    }

    pub(super) async fn list(objects: &dyn ObjectStore) -> Result<Vec<JobId>, StoreError> {
        let folders = objects
            .list_with_delimiter(Some(&Path::from(WORKSPACES)))
            .await?;
        let names = folders.common_prefixes.into_iter();
        Ok(names
            .filter_map(|folder| folder.filename()?.parse().ok())
            .collect())
    }

    /// Stores the bytes under their hash.
    pub async fn put(&self, sealed: SealedUpload) -> Result<(), StoreError> {
        let target = self.path(&sealed.sha256);
        sealed.place_at(&*self.objects, &target).await
    }

    /// Stores the bytes under a name instead of a hash. Does nothing if the name exists.
    pub async fn put_as(&self, name: &str, sealed: SealedUpload) -> Result<(), StoreError> {
        sealed.place_at(&*self.objects, &self.path(name)).await
    }

    /// Streams stored bytes by hash or name.
    pub async fn read(
        &self,
        name: &str,
    ) -> Result<BoxStream<'static, Result<Bytes, StoreError>>, StoreError> {
        let got = self.objects.get(&self.path(name)).await?;
        Ok(got.into_stream().map_err(StoreError::from).boxed())
    }

    /// Removes the whole saved workspace.
    pub async fn clear(&self) -> Result<(), StoreError> {
        if let Some(root) = &self.root {
            return root.remove_workspace(&self.job.to_string()).await;
        }
        let found = self
            .objects
            .list(Some(&self.folder()))
            .map_ok(|object| object.location)
            .boxed();
        self.objects
            .delete_stream(found)
            .try_for_each(|_| async { Ok(()) })
            .await?;
        Ok(())
    }

    fn folder(&self) -> Path {
        Path::from_iter([WORKSPACES, &self.job.to_string()])
    }

    fn path(&self, name: &str) -> Path {
        self.folder().join(name)
    }
}
