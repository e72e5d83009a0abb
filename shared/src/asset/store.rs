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
/// The empty object that tells whether the store works.
const PROBE: &str = "probe";
/// The timeout of the check of the store when a process starts.
const CHECK_TIMEOUT: Duration = Duration::from_secs(30);

/// The bytes of all assets.
#[derive(Clone)]
pub struct AssetStore {
    pub(super) objects: Arc<dyn ObjectStore>,
    /// Saved workspaces of unfinished jobs. Losing one costs work, and no stored result.
    pub(super) workspaces: Arc<dyn ObjectStore>,
    pub(super) place: Arc<Place>,
    pub(super) cleanup: Cleanup,
}

pub(super) enum Place {
    Folder(Folder),
    Bucket(Bucket),
}

/// The bytes from `start` up to but not including `end`.
pub type BlobRange = std::ops::Range<u64>;

impl AssetStore {
    /// A store in a folder. One that is missing is made for this user alone.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime: abandoned uploads are removed on it.
    pub fn in_folder(folder: &FilePath) -> anyhow::Result<Self> {
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .with_context(|| format!("cannot make the asset folder {}", folder.display()))?;
        let files = || LocalFileSystem::new_with_prefix(folder);
        Ok(Self {
            objects: Arc::new(files()?.with_fsync(true)),
            workspaces: Arc::new(files()?.with_automatic_cleanup(true)),
            place: Arc::new(Place::Folder(Folder::new(folder))),
            cleanup: Cleanup::on_current_runtime(),
        })
    }

    /// A store at `s3://bucket/prefix`, with credentials, region and endpoint from the usual `AWS_…` variables. With
    /// `presigns`, clients download from the bucket itself.
    ///
    /// # Panics
    ///
    /// Outside a Tokio runtime: abandoned uploads are removed on it.
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

    /// Stores an empty object: whether the store takes bytes. The error names the store and says what to do.
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

    /// Whether the store answers and takes bytes.
    pub async fn probe(&self) -> Result<(), StoreError> {
        let probe = Path::from(PROBE);
        match self.objects.head(&probe).await {
            Ok(_) => Ok(()),
            // It was removed, or with it the bucket or the folder: only storing it again tells.
            Err(object_store::Error::NotFound { .. }) => {
                self.objects.put(&probe, Bytes::new().into()).await?;
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Waits until the uploads that were abandoned so far are removed, for some seconds at most.
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

    /// A URL from which anyone can download a blob for some minutes; `None` unless the store presigns.
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

    /// Removes a blob; it is no error if it is not there.
    pub async fn delete(&self, sha256: &str) -> Result<(), StoreError> {
        match self.objects.delete(&blob_path(sha256)).await {
            Err(object_store::Error::NotFound { .. }) => Ok(()),
            other => Ok(other?),
        }
    }

    /// The hashes that begin with `first` of blobs that are older than that.
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

    /// Removes what is left of uploads that were broken off longer than that ago: whole objects, and what a process
    /// that was killed had written of them.
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

    /// The same for blobs whose hashes begin with `first`.
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
            // A bucket has an object whole or not at all.
            Place::Bucket(_) => Ok(()),
        }
    }
}

/// The time by the database's clock or by this machine's, whichever is earlier. The ages of objects are by the clock
/// of the store, or of the host that wrote them: where clocks differ, what is old stays longer, and nothing new is
/// removed.
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
