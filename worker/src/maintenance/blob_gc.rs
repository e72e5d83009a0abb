//! Blob garbage collection: bytes in the asset store that no row refers to.

use chrono::TimeDelta;
use shared::asset::AssetStore;
use shared::db::{self, Pool};

use super::step::{ROWS_AT_ONCE, release};

/// The age at which an upload counts as abandoned, and bytes without a row as left by a worker that died.
pub(super) const UPLOAD_TIMEOUT: TimeDelta = TimeDelta::days(1);

/// Deletes bytes that were stored without a row, and bytes whose rows are deleted.
pub(super) async fn run(pool: &Pool, assets: &AssetStore, first: u8) -> anyhow::Result<()> {
    assets.sweep_unfinished_blobs(first, UPLOAD_TIMEOUT).await?;
    let stored = assets.list_blobs(first, UPLOAD_TIMEOUT).await?;
    for hashes in stored.chunks(ROWS_AT_ONCE as usize) {
        let unknown = db::blob::list_unknown(pool, hashes).await?;
        release(pool, assets, unknown).await?;
    }
    Ok(())
}
