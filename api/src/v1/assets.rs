//! `/v1/assets`

mod content;
mod upload;

pub(crate) use content::get_asset_content;
pub(crate) use upload::upload_asset;

use actix_web::web::{Data, Json, Path};
use actix_web::{HttpResponse, delete, get};
use shared::asset::{Asset, AssetStore};
use shared::db::{self, Pool};
use shared::id::AssetId;

use crate::auth::Caller;
use crate::problem::{ApiError, Problem};

/// Returns what is known of a file.
#[utoipa::path(tag = "assets", params(("asset_id" = AssetId, Path, description = "The asset")), responses(
    (status = 200, description = "The asset", body = Asset),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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

/// Removes a file. Jobs that were to start from it will fail.
#[utoipa::path(tag = "assets", params(("asset_id" = AssetId, Path, description = "The asset")), responses(
    (status = 204, description = "It is gone"),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[delete("/assets/{asset_id}")]
pub(crate) async fn delete_asset(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    asset: Path<AssetId>,
) -> Result<HttpResponse, ApiError> {
    let sha256 = db::asset::delete(&**pool, caller.tenant, *asset)
        .await?
        .ok_or(ApiError::NotFound("asset"))?;
    db::asset::release_blob(&pool, &assets, &sha256).await?;
    Ok(HttpResponse::NoContent().finish())
}
