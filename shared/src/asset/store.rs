//! Where the bytes are: a folder or an S3 bucket, addressed by SHA-256.

use std::io::Read;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path as FilePath;
use std::sync::Arc;

use bytes::Bytes;
use chrono::{TimeDelta, Utc};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt, WriteMultipart};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{HEAD_BYTES, Scratch};
use crate::id::JobId;

/// What fits here is written in one piece; larger uploads go to a side path first.
const INLINE_BYTES: usize = 4 * 1024 * 1024;
/// Where uploads wait whose hash is not known yet.
const INCOMING: &str = "incoming";
/// Bytes of a file that are read at once.
const CHUNK_BYTES: usize = 256 * 1024;

/// The bytes of all assets.
#[derive(Clone)]
pub struct AssetStore {
    objects: Arc<dyn ObjectStore>,
    /// What unfinished jobs have in their workspaces. Losing it costs work and no promise.
    scratch: Arc<dyn ObjectStore>,
}

/// The store failed, or has not what the database says it has.
#[derive(Debug, thiserror::Error)]
#[error("the asset store failed")]
pub struct StoreError(#[from] object_store::Error);

impl StoreError {
    /// Whether there is nothing of that name.
    pub fn is_not_found(&self) -> bool {
        matches!(self.0, object_store::Error::NotFound { .. })
    }
}

/// The bytes from `start` up to but not including `end`.
pub type BlobRange = std::ops::Range<u64>;

impl AssetStore {
    /// A store in a folder. One that is missing is made for this user alone.
    pub fn in_folder(folder: &FilePath) -> anyhow::Result<Self> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let files = || LocalFileSystem::new_with_prefix(folder);
        Ok(Self {
            objects: Arc::new(files()?.with_fsync(true)),
            scratch: Arc::new(files()?.with_automatic_cleanup(true)),
        })
    }

    /// A store at `s3://bucket/prefix`, with credentials, region and endpoint from the usual `AWS_…` variables.
    pub fn in_bucket(url: &str) -> anyhow::Result<Self> {
        let (_, rest) = url.split_once("://").unwrap_or(("", url));
        let (_, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let bucket = AmazonS3Builder::from_env().with_url(url).build()?;
        let objects = Arc::new(PrefixStore::new(bucket, prefix));
        Ok(Self {
            objects: objects.clone(),
            scratch: objects,
        })
    }

    /// What an unfinished job has in its workspace.
    pub fn scratch(&self, job: JobId) -> Scratch {
        Scratch::new(self.scratch.clone(), job)
    }

    /// The jobs that have something there.
    pub async fn list_scratch(&self) -> Result<Vec<JobId>, StoreError> {
        Scratch::list(&*self.scratch).await
    }

    /// Begins to store bytes whose hash is not known yet.
    pub fn upload(&self) -> Upload {
        Upload {
            store: self.clone(),
            hasher: Sha256::new(),
            size: 0,
            head: Vec::new(),
            body: Body::Inline(Vec::new()),
        }
    }

    /// Streams a blob, or a range of it.
    pub async fn read(
        &self,
        sha256: &str,
        range: Option<BlobRange>,
    ) -> Result<BoxStream<'static, Result<Bytes, StoreError>>, StoreError> {
        let options = GetOptions {
            range: range.map(GetRange::Bounded),
            ..GetOptions::default()
        };
        let got = self.objects.get_opts(&blob_path(sha256), options).await?;
        Ok(got.into_stream().map_err(StoreError::from).boxed())
    }

    /// Removes a blob; it is no error if it is not there.
    pub async fn delete(&self, sha256: &str) -> Result<(), StoreError> {
        match self.objects.delete(&blob_path(sha256)).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            other => Ok(other?),
        }
    }

    /// The hashes that begin with `first` of blobs that are older than that.
    pub async fn list_blobs(&self, first: u8, age: TimeDelta) -> Result<Vec<String>, StoreError> {
        let stored_before = Utc::now() - age;
        let folder = Path::from_iter(["sha256", &hex::encode([first])]);
        let all = self.objects.list(Some(&folder));
        all.try_filter(move |object| std::future::ready(object.last_modified < stored_before))
            .map_ok(|object| object.location.filename().unwrap_or_default().to_owned())
            .try_filter(|name| std::future::ready(name.len() == 64))
            .map_err(StoreError::from)
            .try_collect()
            .await
    }

    /// Removes uploads that were broken off longer than that ago.
    pub async fn sweep_incoming(&self, age: TimeDelta) -> Result<(), StoreError> {
        let begun_before = Utc::now() - age;
        let all = self.objects.list(Some(&Path::from(INCOMING)));
        let old = all
            .try_filter(move |object| std::future::ready(object.last_modified < begun_before))
            .map_ok(|object| object.location)
            .boxed();
        self.objects
            .delete_stream(old)
            .try_for_each(|_| async { Ok(()) })
            .await?;
        Ok(())
    }

    /// Whether the store answers.
    pub async fn probe(&self) -> Result<(), StoreError> {
        match self.objects.head(&Path::from("probe")).await {
            Ok(_) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn blob_path(sha256: &str) -> Path {
    Path::from_iter(["sha256", &sha256[..2], sha256])
}

/// Bytes on their way into the store. Dropped before [`Upload::seal`], it leaves nothing to be seen.
pub struct Upload {
    store: AssetStore,
    hasher: Sha256,
    size: u64,
    head: Vec<u8>,
    body: Body,
}

enum Body {
    Inline(Vec<u8>),
    Side(Path, WriteMultipart),
}

/// Bytes whose hash is known, on the threshold of the store.
pub struct Sealed {
    store: AssetStore,
    body: SealedBody,
    /// Hexadecimal.
    pub sha256: String,
    /// Bytes.
    pub size: u64,
    /// The first bytes, to tell the media type by.
    pub head: Vec<u8>,
}

enum SealedBody {
    Inline(Vec<u8>),
    Side(Path),
}

impl Upload {
    /// How many bytes there are so far.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Appends bytes, waiting while too many are on their way.
    pub async fn push(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        self.hasher.update(bytes);
        self.size += bytes.len() as u64;
        let wanted = HEAD_BYTES.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..wanted]);
        match &mut self.body {
            Body::Inline(buffer) if buffer.len() + bytes.len() <= INLINE_BYTES => {
                buffer.extend_from_slice(bytes);
            }
            Body::Inline(buffer) => {
                let path = Path::from_iter([INCOMING, &Uuid::now_v7().to_string()]);
                let mut writer =
                    WriteMultipart::new(self.store.objects.put_multipart(&path).await?);
                writer.write(buffer);
                writer.write(bytes);
                self.body = Body::Side(path, writer);
            }
            Body::Side(_, writer) => {
                writer.wait_for_capacity(4).await?;
                writer.write(bytes);
            }
        }
        Ok(())
    }

    /// Appends all that there is to read.
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
    pub async fn seal(self) -> Result<Sealed, StoreError> {
        let body = match self.body {
            Body::Inline(buffer) => SealedBody::Inline(buffer),
            Body::Side(path, writer) => {
                writer.finish().await?;
                SealedBody::Side(path)
            }
        };
        let sha256 = hex::encode(self.hasher.finalize());
        Ok(Sealed {
            store: self.store,
            body,
            sha256,
            size: self.size,
            head: self.head,
        })
    }

    /// Throws away what has been uploaded.
    pub async fn abort(self) -> Result<(), StoreError> {
        if let Body::Side(_, writer) = self.body {
            writer.abort().await?;
        }
        Ok(())
    }
}

impl Sealed {
    /// Puts the bytes in their place. The caller holds the blob (`db::asset::store` does), so that
    /// nobody removes it before the row that needs it is there.
    pub async fn place(self) -> Result<(), StoreError> {
        let target = blob_path(&self.sha256);
        let objects = self.store.objects.clone();
        self.place_at(&*objects, &target).await
    }

    /// Puts the bytes at `target`, where nothing or the same is.
    pub(super) async fn place_at(
        self,
        objects: &dyn ObjectStore,
        target: &Path,
    ) -> Result<(), StoreError> {
        let exists = objects.head(target).await.is_ok();
        match self.body {
            SealedBody::Inline(_) if exists => {}
            SealedBody::Inline(buffer) => {
                objects.put(target, buffer.into()).await?;
            }
            SealedBody::Side(path) if exists => objects.delete(&path).await?,
            SealedBody::Side(path) => objects.rename(&path, target).await?,
        }
        Ok(())
    }
}
