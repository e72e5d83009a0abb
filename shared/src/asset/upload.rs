//! Uploads into the asset store.

use std::io::Read;

use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use sha2::{Digest, Sha256};

use super::failure::StoreError;
use super::staged::Staged;
use super::store::blob_path;
use super::{AssetStore, HEAD_BYTES};

/// Uploads up to this size are written in one request. Larger uploads go to a temporary path first.
const INLINE_BYTES: usize = 4 * 1024 * 1024;
/// The number of bytes that are read from a file at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// An upload in progress. Dropping it before [`Upload::seal`] leaves nothing in the store.
pub struct Upload {
    store: AssetStore,
    hasher: Sha256,
    size: u64,
    head: Vec<u8>,
    body: UploadBody,
}

enum UploadBody {
    Inline(Vec<u8>),
    Staged(Staged),
}

/// A finished upload with a known hash that is not stored under that hash yet. Dropping it leaves nothing in the
/// store.
pub struct SealedUpload {
    store: AssetStore,
    body: UploadBody,
    /// The SHA-256 of the bytes, in hexadecimal.
    pub sha256: String,
    /// The number of bytes.
    pub size: u64,
    /// The first bytes, from which the media type is detected.
    pub head: Vec<u8>,
}

impl AssetStore {
    /// Begins an upload.
    pub fn upload(&self) -> Upload {
        Upload::new(self.clone())
    }
}

impl Upload {
    pub(super) fn new(store: AssetStore) -> Self {
        Self {
            store,
            hasher: Sha256::new(),
            size: 0,
            head: Vec::new(),
            body: UploadBody::Inline(Vec::new()),
        }
    }

    /// The number of bytes so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The first bytes, at most [`HEAD_BYTES`].
    pub fn head(&self) -> &[u8] {
        &self.head
    }

    /// Appends bytes. Waits while too many parts are being sent.
    pub async fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        let wanted = HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..wanted]);
        match &mut self.body {
            UploadBody::Inline(buffer) if buffer.len() + bytes.len() <= INLINE_BYTES => {
                buffer.extend_from_slice(bytes);
            }
            UploadBody::Inline(buffer) => {
                let mut staged = Staged::begin(self.store.clone()).await?;
                staged.write(buffer).await?;
                staged.write(bytes).await?;
                self.body = UploadBody::Staged(staged);
            }
            UploadBody::Staged(staged) => staged.write(bytes).await?,
        }
        Ok(())
    }

    /// Appends all bytes of a reader.
    pub async fn push_all(&mut self, mut source: impl Read) -> anyhow::Result<()> {
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match source.read(&mut chunk)? {
                0 => return Ok(()),
                count => self.push(&chunk[..count]).await?,
            }
        }
    }

    /// Ends the upload. The bytes are stored, but not under their hash yet.
    pub async fn seal(mut self) -> Result<SealedUpload, StoreError> {
        if let UploadBody::Staged(staged) = &mut self.body {
            staged.finish().await?;
        }
        Ok(SealedUpload {
            store: self.store,
            body: self.body,
            sha256: hex::encode(self.hasher.finalize()),
            size: self.size,
            head: self.head,
        })
    }

    /// Deletes the uploaded bytes. Dropping the upload does the same in the background.
    pub async fn abort(self) -> Result<(), StoreError> {
        self.body.remove().await
    }
}

impl SealedUpload {
    /// Stores the bytes under their hash. The database must already have a row with this hash (`db::asset::store`
    /// ensures this), so that maintenance does not delete the bytes.
    pub async fn place(self) -> Result<(), StoreError> {
        let target = blob_path(&self.sha256);
        let objects = self.store.objects.clone();
        self.place_at(&*objects, &target).await
    }

    /// Stores the bytes at `target`. If `target` exists, it has the same content.
    pub(super) async fn place_at(
        self,
        objects: &dyn ObjectStore,
        target: &Path,
    ) -> Result<(), StoreError> {
        if objects.head(target).await.is_ok() {
            return self.discard().await;
        }
        match self.body {
            UploadBody::Inline(buffer) => {
                objects.put(target, buffer.into()).await?;
                Ok(())
            }
            UploadBody::Staged(staged) => staged.move_to(objects, target).await,
        }
    }

    /// Deletes the bytes. Dropping them does the same in the background.
    pub async fn discard(self) -> Result<(), StoreError> {
        self.body.remove().await
    }
}

impl UploadBody {
    async fn remove(self) -> Result<(), StoreError> {
        match self {
            Self::Inline(_) => Ok(()),
            Self::Staged(staged) => staged.remove().await,
        }
    }
}
