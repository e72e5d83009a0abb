//! The steps of maintenance, and the release of blobs that they share.

use futures_util::{StreamExt, TryStreamExt, stream};
use shared::asset::AssetStore;
use shared::db::{self, Pool};

/// The maximum number of rows that are deleted in one transaction.
pub(super) const ROWS_AT_ONCE: i64 = 500;
/// The number of blobs that are deleted concurrently.
const BLOBS_AT_ONCE: usize = 2;

/// Runs one step, and logs its error.
pub(super) async fn run_step<E: Into<anyhow::Error>>(
    step: &'static str,
    work: impl Future<Output = Result<(), E>>,
) {
    if let Err(error) = work.await {
        let error = format!("{:#}", error.into());
        tracing::warn!(step, error, "a step of maintenance failed");
    }
}

/// Releases blobs whose rows are deleted.
pub(super) async fn release(
    pool: &Pool,
    assets: &AssetStore,
    blobs: Vec<String>,
) -> anyhow::Result<()> {
    let released = stream::iter(blobs)
        .map(|sha256| async move { db::blob::release(pool, assets, &sha256).await })
        .buffer_unordered(BLOBS_AT_ONCE);
    Ok(released.try_collect().await?)
}
