//! Blobs: deletion of unreferenced bytes from the asset store.
//!
//! No connection and no transaction is open while the store deletes. A row in `blob_deletion` is committed before the
//! deletion and deleted after it. While the row exists, the database rejects rows that refer to the blob. Therefore
//! the bytes of a committed row are never deleted. If a process dies during a deletion, maintenance or the next upload
//! of the same content repeats the deletion.
//!
//! An asset store has no fencing: a process that is suspended for more than a minute just before it sends its request
//! may delete bytes that were uploaded in that time.

use std::time::Duration;

use sqlx::PgExecutor;
use tokio::time::{Instant, sleep, timeout_at};
use uuid::Uuid;

use super::Pool;
use crate::asset::{AssetStore, StoreError};

/// The timeout of a deletion in the store. It is shorter than [`EXPIRES_AFTER`], so that a deletion that timed out is
/// not repeated while the store may still be working on it.
const DELETION_TIMEOUT: Duration = Duration::from_secs(30);
/// The time after which another process may repeat an unfinished deletion.
const EXPIRES_AFTER: Duration = Duration::from_secs(60);
/// The time that an upload waits for the deletion of the same content. After that it fails as in an outage.
const FREE_TIMEOUT: Duration = Duration::from_secs(10);
const FREE_PAUSE: Duration = Duration::from_millis(50);

/// The database or the asset store failed.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// The store failed.
    #[error("the asset store failed")]
    Store(#[from] StoreError),
    /// The store did not delete a blob in time.
    #[error("the asset store did not delete a blob within {} s", DELETION_TIMEOUT.as_secs())]
    DeletionTimeout,
}

/// Deletes the bytes of a blob unless an asset, a preview or a skill refers to them. Call it after the deletion of the
/// rows is committed: a crash in between leaves bytes without a row, never a row without bytes.
pub async fn release(db: &Pool, assets: &AssetStore, sha256: &str) -> Result<(), BlobError> {
    // Taken before the database sets the expiry, so that the timeout ends first.
    let begun_at = Instant::now();
    let Some(deletion) = begin_deletion(db, sha256).await? else {
        return Ok(());
    };
    let deleted = timeout_at(begun_at + DELETION_TIMEOUT, assets.delete(sha256)).await;
    let deleted = deleted.map_err(|_| BlobError::DeletionTimeout)?;
    // After any other error, the store may still delete the bytes.
    if deleted.as_ref().err().is_none_or(StoreError::is_denied) {
        end_deletion(db, sha256, deletion).await?;
    }
    Ok(deleted?)
}

/// Records the start of a deletion. Returns `None` if a row refers to the blob or another process is deleting it.
async fn begin_deletion(db: &Pool, sha256: &str) -> sqlx::Result<Option<Uuid>> {
    let mut transaction = db.begin().await?;
    // A separate statement, so that the next one sees what was committed before the lock was granted.
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended($1, 0))",
        sha256
    )
    .execute(&mut *transaction)
    .await?;
    let deletion = sqlx::query_scalar!(
        "insert into blob_deletion as deletion (sha256, id, expires_at)
         select blob, $2, now() + $3 * interval '1 second'
         from decode($1, 'hex') as blob
         where not exists (select from asset where sha256 = blob)
           and not exists (select from preview_file where sha256 = blob)
           and not exists (select from skill_version where digest = blob)
         on conflict (sha256) do update set id = excluded.id, expires_at = excluded.expires_at
         where deletion.expires_at < now()
         returning id",
        sha256,
        Uuid::now_v7(),
        EXPIRES_AFTER.as_secs_f64(),
    )
    .fetch_optional(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(deletion)
}

async fn end_deletion(db: impl PgExecutor<'_>, sha256: &str, deletion: Uuid) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from blob_deletion where sha256 = decode($1, 'hex') and id = $2",
        sha256,
        deletion,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Runs a statement that inserts a row for a blob. Retries while the blob is being deleted.
pub(super) async fn when_free<T, F>(
    db: &Pool,
    assets: &AssetStore,
    sha256: &str,
    insert: impl Fn() -> F,
) -> Result<T, BlobError>
where
    F: Future<Output = sqlx::Result<T>>,
{
    let begun_at = Instant::now();
    loop {
        match insert().await {
            Err(error) if is_being_deleted(&error) && begun_at.elapsed() < FREE_TIMEOUT => {
                // The process that began the deletion may have died.
                release(db, assets, sha256).await?;
                sleep(FREE_PAUSE).await;
            }
            inserted => return Ok(inserted?),
        }
    }
}

fn is_being_deleted(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    error.is_some_and(|error| error.constraint() == Some("blob_deletion"))
}

/// Lists up to `limit` hashes whose deletion has expired unfinished, oldest first.
pub async fn list_undeleted(db: impl PgExecutor<'_>, limit: i64) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select encode(sha256, 'hex') as "sha256!"
           from blob_deletion
           where expires_at < now()
           order by expires_at
           limit $1"#,
        limit,
    )
    .fetch_all(db)
    .await
}

/// Returns the hashes to which no asset, preview or skill refers.
pub async fn list_unknown(db: impl PgExecutor<'_>, hashes: &[String]) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select hash as "hash!"
           from unnest($1::text[]) as hash
           where not exists (select from asset where sha256 = decode(hash, 'hex'))
             and not exists (select from preview_file where sha256 = decode(hash, 'hex'))
             and not exists (select from skill_version where digest = decode(hash, 'hex'))"#,
        hashes,
    )
    .fetch_all(db)
    .await
}
