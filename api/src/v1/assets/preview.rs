//! `GET /v1/assets/{id}/preview`.

use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, REFERRER_POLICY,
};
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get};
use shared::asset::{Asset, AssetStore};
use shared::db::preview::PDF_PAGE;
use shared::db::{self, Pool};
use shared::id::AssetId;

use super::pages::{IMAGE_POLICY, open_blob};
use crate::auth::Caller;
use crate::etag::REVALIDATE;
use crate::form::FileContent;
use crate::problem::{ApiError, Problem};

/// The page runs its scripts in an opaque origin. It has no access to the network, to cookies and to other pages.
const ISOLATED: &str = "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; \
                        style-src 'unsafe-inline'; img-src data: blob:; font-src data:; \
                        media-src data: blob:; connect-src 'none'; form-action 'none'; \
                        base-uri 'none'; frame-ancestors 'self'";

/// Returns a preview of a file for browsers.
///
/// A web page or an SVG image is shown with its scripts, isolated from this service and from the network. An office
/// document is shown as a PDF, once a worker has rendered it. Only pages of this service can embed the preview in a
/// frame. For files of other types, use `/content`.
#[utoipa::path(tag = "assets",
    params(("asset_id" = AssetId, Path, description = "The asset")),
    responses(
        (status = 200, description = "The content, of the asset's `content_type`; `application/pdf` for an office document",
            content((inline(FileContent) = "application/octet-stream"), (inline(FileContent) = "*/*"))),
        (status = 410, description = "The content has been lost (`content_lost`)", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/assets/{asset_id}/preview")]
pub(crate) async fn get_asset_preview(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    asset: Path<AssetId>,
) -> Result<HttpResponse, ApiError> {
    let asset = db::asset::get(&**pool, caller.tenant, *asset).await?;
    let asset = asset.ok_or(ApiError::NotFound("asset"))?;
    if !matches!(asset.content_type.as_str(), "text/html" | "image/svg+xml") {
        let pdf = db::preview::get_file(&**pool, caller.tenant, asset.id, PDF_PAGE).await?;
        let pdf = pdf.ok_or(ApiError::NotFound(
            "preview: the file is not a web page, an SVG image or an office document that a worker has rendered",
        ))?;
        return Ok(HttpResponse::Ok()
            .content_type("application/pdf")
            .insert_header((CACHE_CONTROL, REVALIDATE))
            .insert_header((CONTENT_SECURITY_POLICY, IMAGE_POLICY))
            .insert_header((REFERRER_POLICY, "no-referrer"))
            .insert_header((CONTENT_DISPOSITION, "inline"))
            .body(open_blob(&assets, &pdf.sha256, pdf.size).await?));
    }
    page(&assets, &asset).await
}

/// Returns a web page or an SVG image with its scripts, isolated.
async fn page(assets: &AssetStore, asset: &Asset) -> Result<HttpResponse, ApiError> {
    Ok(HttpResponse::Ok()
        .content_type(format!("{}; charset=utf-8", asset.content_type))
        .insert_header((CACHE_CONTROL, REVALIDATE))
        .insert_header((CONTENT_SECURITY_POLICY, ISOLATED))
        .insert_header((REFERRER_POLICY, "no-referrer"))
        .insert_header((CONTENT_DISPOSITION, "inline"))
        .body(open_blob(assets, &asset.sha256, asset.size).await?))
}
