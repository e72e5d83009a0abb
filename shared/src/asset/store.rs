//! The asset store: bytes in a folder or an S3 bucket, addressed by SHA-256.

use std::os::unix::fs::DirBuilderExt;
use std::path::Path as FilePath;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use chrono::{DateTime, TimeDelta, Utc};
use futures_util::stream::BoxStream;
use futures_util::{StreamExt, TryStreamExt};
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt};
use tokio::time::timeout;

use super::bucket::{Bucket, DownloadHeaders};
use super::cleanup::Cleanup;
use super::failure::{StoreError, describe};
use super::folder::{Folder, INCOMING};

/// The folder of blobs.
const BLOBS: &str = "sha256";
/// An empty object that is read or written to check that the store works.
const PROBE: &str = "probe";
/// The timeout of the store check at startup.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// The storage of all assets. Clones share it.
#[derive(Clone)]
pub struct AssetStore {
    pub(super) objects: Arc<dyn ObjectStore>,
    /// The storage of saved workspaces of unfinished jobs. If a workspace is lost, only unfinished work is lost.
    pub(super) workspaces: Arc<dyn ObjectStore>,
    pub(super) place: Arc<Place>,
    pub(super) cleanup: Cleanup,
}

pub(super) enum Place {
    Folder(Folder),
    Bucket(Bucket),
}

/// The bytes from `start` (inclusive) to `end` (exclusive).
pub type BlobRange = std::ops::Range<u64>;

impl AssetStore {
    /// Opens a store in a folder. Creates the folder if it is missing, accessible by the current user only.
    ///
    /// # Panics
    ///
    /// Panics outside a Tokio runtime, because abandoned uploads are removed in background tasks.
    pub fn in_folder(folder: &FilePath) -> anyhow::Result<Self> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .with_context(|| format!("cannot create the asset folder {}", folder.display()))?;
        let files = || LocalFileSystem::new_with_prefix(folder);
        Ok(Self {
            objects: Arc::new(files()?.with_fsync(true)),
            workspaces: Arc::new(files()?.with_automatic_cleanup(true)),
            place: Arc::new(Place::Folder(Folder::new(folder))),
            cleanup: Cleanup::on_current_runtime(),
        })
    }

    /// Opens a store at `s3://bucket/prefix`. Credentials, region and endpoint come from the usual `AWS_…` variables.
    /// With `presigns`, clients download directly from the bucket.
    ///
    /// # Panics
    ///
    /// Panics outside a Tokio runtime, because abandoned uploads are removed in background tasks.
    pub fn in_bucket(url: &str, presigns: bool) -> anyhow::Result<Self> {
        let (s3, bucket) = Bucket::open(url, presigns)?;
        let objects = Arc::new(PrefixStore::new(s3, bucket.prefix().clone()));
        Ok(Self {
            objects: objects.clone(),
            workspaces: objects,
            place: Arc::new(Place::Bucket(bucket)),
            cleanup: Cleanup::on_current_runtime(),
        })
    }

    /// Checks that the store accepts bytes, by storing an empty object. The error names the store and a remedy.
    pub async fn check(&self) -> anyhow::Result<()> {
        let probe = Path::from(PROBE);
        let putting = self.objects.put(&probe, Bytes::new().into());
        let place = || format!("the asset store {} cannot be used", self.place);
        match timeout(CHECK_TIMEOUT, putting).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(anyhow::anyhow!(describe(&error))).with_context(place),
            Err(_) => Err(anyhow::anyhow!(
                "no answer within {} s; check AWS_ENDPOINT, AWS_REGION and the credentials",
                CHECK_TIMEOUT.as_secs()
            ))
            .with_context(place),
        }
    }

    /// Checks that the store answers and accepts bytes.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let probe = Path::from(PROBE);
        match self.objects.head(&probe).await {
            Ok(_) => Ok(()),
            // The object, the bucket or the folder was removed. Storing the object again shows whether the store
            // works.
            Err(object_store::Error::NotFound { .. }) => {
                self.objects.put(&probe, Bytes::new().into()).await?;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until abandoned uploads are removed, at most a few seconds.
    pub async fn finish_cleanup(&self) {
        self.cleanup.finish().await;
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

    /// Returns a URL from which anyone can download a blob for a few minutes. Returns `None` if the store does not
    /// presign.
    pub async fn presign(
        &self,
        sha256: &str,
        headers: &DownloadHeaders<'_>,
    ) -> Result<Option<String>, StoreError> {
        match &*self.place {
            Place::Folder(_) => Ok(None),
            Place::Bucket(bucket) => Ok(bucket.presign(&blob_path(sha256), headers).await?),
        }
    }

    /// Removes a blob. A missing blob is not an error.
    pub async fn delete(&self, sha256: &str) -> Result<(), StoreError> {
        match self.objects.delete(&blob_path(sha256)).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            other => Ok(other?),
        }
    }

    /// Lists the hashes of blobs whose hash begins with the byte `first` and that are older than `age`.
    pub async fn list_blobs(&self, first: u8, age: TimeDelta) -> Result<Vec<String>, StoreError> {
        let stored_before = earliest_now() - age;
        let folder = Path::from_iter([BLOBS, &hex::encode([first])]);
        let all = self.objects.list(Some(&folder));
        all.try_filter(move |object| std::future::ready(object.last_modified < stored_before))
            .map_ok(|object| object.location.filename().unwrap_or_default().to_owned())
            .try_filter(|name| std::future::ready(name.len() == 64))
            .map_err(StoreError::from)
            .try_collect()
            .await
    }

    /// Removes abandoned uploads that are older than `age`: whole objects, and the parts that a killed process left
    /// behind.
    pub async fn sweep_uploads(&self, age: TimeDelta) -> Result<(), StoreError> {
        let begun_before = earliest_now() - age;
        match &*self.place {
            Place::Folder(folder) => folder.sweep_uploads(begun_before).await,
            Place::Bucket(bucket) => {
                let all = self.objects.list(Some(&Path::from(INCOMING)));
                let old = all
                    .try_filter(move |object| {
                        std::future::ready(object.last_modified < begun_before)
                    })
                    .map_ok(|object| object.location)
                    .boxed();
                self.objects
                    .delete_stream(old)
                    .try_for_each(|_| async { Ok(()) })
                    .await?;
                bucket.abort_unfinished(INCOMING, begun_before).await;
                Ok(())
            }
        }
    }

    /// Removes unfinished files older than `age` of blobs whose hash begins with the byte `first`.
    pub async fn sweep_unfinished_blobs(
        &self,
        first: u8,
        age: TimeDelta,
    ) -> Result<(), StoreError> {
        match &*self.place {
            Place::Folder(folder) => {
                let part = [BLOBS, &hex::encode([first])].iter().collect();
                folder.sweep_unfinished(part, earliest_now() - age).await
            }
            // An object in a bucket is always complete.
            Place::Bucket(_) => Ok(()),
        }
    }
}

/// The earlier of the database's clock and this machine's clock. Object ages are measured by the clock of the store or
/// of the host that wrote the object. If the clocks differ, old objects stay longer and new objects are not removed.
fn earliest_now() -> DateTime<Utc> {
    crate::clock::now().min(Utc::now())
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.root().display()),
            Self::Bucket(bucket) => write!(f, "{}", bucket.url()),
        }
    }
}

pub(super) fn blob_path(sha256: &str) -> Path {
    Path::from_iter([BLOBS, &sha256[..2], sha256])
}
