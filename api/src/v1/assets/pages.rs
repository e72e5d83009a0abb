//! `GET /v1/assets/{id}/pages`: an office document as images of its pages.

use actix_web::body::{MessageBody, SizedStream};
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, ETAG, IF_NONE_MATCH,
};
use actix_web::web::{Data, Json, Path};
use actix_web::{HttpRequest, HttpResponse, get};
use serde::Serialize;
use shared::asset::AssetStore;
use shared::db::preview::{Preview, PreviewStatus};
use shared::db::{self, Pool};
use shared::id::AssetId;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::etag;
use crate::form::FileContent;
use crate::problem::{ApiError, Problem};

/// The file runs no code and has an opaque origin, whatever type a browser takes it for.
pub(super) const IMAGE_POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'self'";

/// The pages of an office document, rendered by a worker.
#[derive(Serialize, ToSchema)]
struct AssetPages {
    /// The status of the preview.
    status: PreviewStatus,
    /// The reason why the document could not be rendered. Null unless rendering failed.
    #[schema(required)]
    reason: Option<String>,
    /// The number of pages of the document. The first 20 pages have images. Null until the preview is ready.
    #[schema(required)]
    total_pages: Option<i32>,
    /// The images, in the order of the pages.
    pages: Vec<AssetPageImage>,
    /// The path of the whole document as a PDF. Null until the preview is ready.
    #[schema(required)]
    pdf_url: Option<String>,
}

/// A page of a document as a JPEG image.
#[derive(Serialize, ToSchema)]
struct AssetPageImage {
    /// The number of the page, from 1.
    number: i32,
    /// The width in pixels.
    width: i32,
    /// The height in pixels.
    height: i32,
    /// The path of the image, relative to the service.
    url: String,
}

impl AssetPages {
    fn of(asset: AssetId, preview: Preview) -> Self {
        let pages = preview.pages.into_iter().map(|page| AssetPageImage {
            number: page.page,
            width: page.width,
            height: page.height,
            url: format!("/v1/assets/{asset}/pages/{}", page.page),
        });
        let is_ready = preview.status == PreviewStatus::Ready;
        Self {
            status: preview.status,
            reason: preview.reason,
            total_pages: preview.total_pages,
            pages: pages.collect(),
            pdf_url: is_ready.then(|| format!("/v1/assets/{asset}/preview")),
        }
    }
}

/// Returns the pages of an office document that a job made.
///
/// A worker renders the pages after the job has ended.
#[utoipa::path(tag = "assets", params(("asset_id" = AssetId, Path, description = "The asset")), responses(
    (status = 200, description = "The pages, or the reason why there are none", body = AssetPages),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/assets/{asset_id}/pages")]
pub(crate) async fn list_asset_pages(
    caller: Caller,
    pool: Data<Pool>,
    asset: Path<AssetId>,
) -> Result<Json<AssetPages>, ApiError> {
    let mut connection = pool.acquire().await?;
    let preview = db::preview::get(&mut connection, caller.tenant, *asset).await?;
    let preview = preview.ok_or(ApiError::NotFound(
        "preview: the file is not an office document that a job created",
    ))?;
    Ok(Json(AssetPages::of(*asset, preview)))
}

/// Returns one page of an office document as a JPEG image.
#[utoipa::path(tag = "assets",
    params(
        ("asset_id" = AssetId, Path, description = "The asset"),
        ("number" = i32, Path, description = "The page, from 1"),
        ("If-None-Match" = Option<String>, Header, description = "ETags that the client has cached"),
    ),
    responses(
        (status = 200, description = "The image", content((inline(FileContent) = "application/octet-stream"), (inline(FileContent) = "image/jpeg"))),
        (status = 304, description = "The image is unchanged: `If-None-Match` has its ETag"),
        (status = 410, description = "The image has been lost (`content_lost`)", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/assets/{asset_id}/pages/{number}")]
pub(crate) async fn get_asset_page(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    path: Path<(AssetId, i32)>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let (asset, number) = path.into_inner();
    let page = match number {
        1.. => db::preview::get_file(&**pool, caller.tenant, asset, number).await?,
        _ => None,
    };
    let page = page.ok_or(ApiError::NotFound("page"))?;
    let etag = format!("\"{}\"", page.sha256);
    let known = request.headers().get(IF_NONE_MATCH);
    let known = known.and_then(|tags| tags.to_str().ok());
    if known.is_some_and(|tags| etag::any(tags, |tag| etag::is_same(tag, &etag))) {
        return Ok(HttpResponse::NotModified()
            .insert_header((ETAG, etag))
            .insert_header((CACHE_CONTROL, etag::REVALIDATE))
            .finish());
    }
    Ok(HttpResponse::Ok()
        .content_type("image/jpeg")
        .insert_header((ETAG, etag))
        .insert_header((CACHE_CONTROL, etag::REVALIDATE))
        .insert_header((CONTENT_SECURITY_POLICY, IMAGE_POLICY))
        .insert_header((CONTENT_DISPOSITION, "inline"))
        .body(open_blob(&assets, &page.sha256, page.size).await?))
}

/// Opens the content of a file.
pub(super) async fn open_blob(
    assets: &AssetStore,
    sha256: &str,
    size: i64,
) -> Result<impl MessageBody + use<>, ApiError> {
    let content = assets.read(sha256, None).await.map_err(|error| {
        if error.is_not_found() {
            tracing::error!(sha256, "a file is missing from the asset store");
            ApiError::ContentLost
        } else {
            error.into()
        }
    })?;
    Ok(SizedStream::new(size.unsigned_abs(), content))
}
