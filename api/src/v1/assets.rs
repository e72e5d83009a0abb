//! `/v1/assets`

mod content;
mod pages;
mod preview;
mod upload;

pub(crate) use content::get_asset_content;
pub(crate) use pages::{get_asset_page, list_asset_pages};
pub(crate) use preview::get_asset_preview;
pub(crate) use upload::upload_asset;

use actix_web::web::{Data, Json, Path};
use actix_web::{HttpResponse, delete, get};
use serde::Deserialize;
use shared::asset::{Asset, AssetStore};
use shared::db::{self, Pool};
use shared::id::{AssetId, JobId};
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query::Query;

type AssetPage = Page<Asset>;

/// Query parameters for a list of assets.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListAssets {
    /// Only files that this job made or that came with its request.
    job_id: Option<JobId>,
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists files, the newest first: uploads, inputs that came with jobs, and outputs of jobs.
#[utoipa::path(tag = "assets", params(ListAssets), responses(
    (status = 200, description = "A page of assets", body = AssetPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/assets")]
pub(crate) async fn list_assets(
    caller: Caller,
    pool: Data<Pool>,
    query: Query<ListAssets>,
) -> Result<Json<AssetPage>, ApiError> {
    let limit = cursor::limit(query.limit)?;
    let before = cursor::parse(query.cursor.as_deref())?;
    let assets = db::asset::list_page(&**pool, caller.tenant, query.job_id, before, limit + 1);
    let page = Page::of(assets.await?, limit, |asset| asset.id.to_string());
    Ok(Json(page))
}

/// Returns an asset: the name, media type, size and SHA-256 of a file.
#[utoipa::path(tag = "assets", params(("asset_id" = AssetId, Path, description = "The asset")), responses(
    (status = 200, description = "The asset", body = Asset),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/assets/{asset_id}")]
pub(crate) async fn get_asset(
    caller: Caller,
    pool: Data<Pool>,
    asset: Path<AssetId>,
) -> Result<Json<Asset>, ApiError> {
    let asset = db::asset::get(&**pool, caller.tenant, *asset).await?;
    asset.map(Json).ok_or(ApiError::NotFound("asset"))
}

/// Deletes a file.
///
/// Jobs that need the file as an input and have not started yet will fail.
#[utoipa::path(tag = "assets", params(("asset_id" = AssetId, Path, description = "The asset")), responses(
    (status = 204, description = "Deleted"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[delete("/assets/{asset_id}")]
pub(crate) async fn delete_asset(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    asset: Path<AssetId>,
) -> Result<HttpResponse, ApiError> {
    let blobs = db::asset::delete(&**pool, caller.tenant, *asset).await?;
    if blobs.is_empty() {
        return Err(ApiError::NotFound("asset"));
    }
    release_blobs(&pool, &assets, blobs).await;
    Ok(HttpResponse::NoContent().finish())
}

/// Deletes the bytes of deleted assets. If the asset store is unavailable, maintenance deletes them later. For the
/// client, the file is deleted in both cases.
pub(crate) async fn release_blobs(pool: &Pool, assets: &AssetStore, blobs: Vec<String>) {
    for sha256 in blobs {
        if let Err(error) = db::blob::release(pool, assets, &sha256).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "cannot delete the content of a deleted file; maintenance will retry"
            );
            return;
        }
    }
}
