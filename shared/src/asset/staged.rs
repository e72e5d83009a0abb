//! Staged objects: uploads whose hash is not known yet.

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutResult, WriteMultipart};
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::AssetStore;
use super::failure::StoreError;
use super::folder::INCOMING;

/// The most parts of an upload that are sent at once. The sender waits for a free place.
const PARTS_AT_ONCE: usize = 4;

/// An object at a temporary path. Dropping it before it is moved removes it in the background, in every state.
pub(super) struct Staged {
    store: AssetStore,
    path: Path,
    state: StagedState,
}

/// The progress of a staged upload.
enum StagedState {
    Writing(WriteMultipart),
    /// A background task writes the last part. It ends even if nobody waits for it.
    Finishing(JoinHandle<object_store::Result<PutResult>>),
    /// The object is in the store, unless writing its last part failed.
    Complete,
    /// The object was moved away or removed.
    Gone,
}

impl Staged {
    pub(super) async fn begin(store: AssetStore) -> Result<Self, StoreError> {
        let path = Path::from_iter([INCOMING, &Uuid::now_v7().to_string()]);
        let writer = WriteMultipart::new(store.objects.put_multipart(&path).await?);
        Ok(Self {
            store,
            path,
            state: StagedState::Writing(writer),
        })
    }

    /// Appends bytes. Waits while too many parts are being sent.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let StagedState::Writing(writer) = &mut self.state else {
            unreachable!("nothing is appended to a finished upload");
        };
        writer.wait_for_capacity(PARTS_AT_ONCE).await?;
        writer.write(bytes);
        Ok(())
    }

    /// Writes the last part.
    pub(super) async fn finish(&mut self) -> Result<(), StoreError> {
        let StagedState::Writing(writer) = std::mem::replace(&mut self.state, StagedState::Gone)
        else {
            unreachable!("an upload is finished once");
        };
        let finishing = self.store.cleanup.spawn(writer.finish());
        self.state = StagedState::Finishing(finishing);
        let StagedState::Finishing(finishing) = &mut self.state else {
            unreachable!("it was set above");
        };
        let finished = finishing.await;
        self.state = StagedState::Complete;
        finished.map_err(object_store::Error::from)??;
        Ok(())
    }

    /// Moves the object to `target`. If `target` exists, it has the same content.
    pub(super) async fn move_to(
        mut self,
        objects: &dyn ObjectStore,
        target: &Path,
    ) -> Result<(), StoreError> {
        objects.rename(&self.path, target).await?;
        self.state = StagedState::Gone;
        Ok(())
    }

    /// Removes the object from the store.
    pub(super) async fn remove(mut self) -> Result<(), StoreError> {
        self.take_removal().await
    }

    fn take_removal(&mut self) -> impl Future<Output = Result<(), StoreError>> + Send + use<> {
        let state = std::mem::replace(&mut self.state, StagedState::Gone);
        let (objects, path) = (self.store.objects.clone(), self.path.clone());
        async move {
            match state {
                StagedState::Gone => return Ok(()),
                StagedState::Writing(writer) => return Ok(writer.abort().await?),
                // The task can still create the object.
                StagedState::Finishing(finishing) => drop(finishing.await),
                StagedState::Complete => {}
            }
            match objects.delete(&path).await {
                Err(object_store::Error::NotFound { .. }) => Ok(()),
                other => Ok(other?),
            }
        }
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if matches!(self.state, StagedState::Gone) {
            return;
        }
        let removal = self.take_removal();
        self.store.cleanup.spawn(async move {
            if let Err(error) = removal.await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "cannot remove an abandoned upload; maintenance removes it after a day"
                );
            }
        });
    }
}
