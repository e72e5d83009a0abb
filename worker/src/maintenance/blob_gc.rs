//! Blob garbage collection: bytes in the asset store that no row refers to.

use chrono::TimeDelta;
use shared::asset::AssetStore;
use shared::db::{self, Pool};

use super::step::{ROWS_AT_ONCE, release};

/// The age from which an upload counts as broken off, and bytes without a row as left by a worker that died.
pub(super) const UPLOAD_PATIENCE: TimeDelta = TimeDelta::days(1);

/// Removes bytes that were stored without a row, and those whose rows are gone.
pub(super) async fn run(pool: &Pool, assets: &AssetStore, first: u8) -> anyhow::Result<()> {
    assets
        .sweep_unfinished_blobs(first, UPLOAD_PATIENCE)
        .await?;
    let stored = assets.list_blobs(first, UPLOAD_PATIENCE).await?;
    for hashes in stored.chunks(ROWS_AT_ONCE as usize) {
        let unknown = db::blob::list_unknown(pool, hashes).await?;
        release(pool, assets, unknown).await?;
    }
    Ok(())
}
