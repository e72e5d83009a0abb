//! `POST /v1/assets`.

use actix_multipart::Field;
use actix_web::http::header::LOCATION;
use actix_web::web::Data;
use actix_web::{HttpResponse, post};
use futures_util::StreamExt;
use shared::asset::{Asset, AssetStore, Upload, content_type_of, file_name};
use shared::db::asset::NewAsset;
use shared::db::{self, Pool};

use crate::auth::Caller;
use crate::form::{FileForm, Form, malformed, no_file};
use crate::problem::{ApiError, Problem};

/// The maximum size of a file.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Uploads a file.
///
/// The body is a form with one part, `file`. The file is streamed to the store, and may have up to 2 GiB.
#[utoipa::path(tag = "assets", request_body(content = FileForm, content_type = "multipart/form-data"), responses(
    (status = 201, description = "The asset", body = Asset, headers(("Location" = String, description = "The asset's path"))),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/assets")]
pub(crate) async fn upload_asset(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    mut form: Form,
) -> Result<HttpResponse, ApiError> {
    let mut upload = assets.upload();
    let name = receive(&mut form, &mut upload).await?;
    let sealed = upload.seal().await?;
    let content_type = content_type_of(&name, &sealed.head);
    let new = NewAsset {
        tenant: caller.tenant,
        job: None,
        name: &name,
        content_type: &content_type,
    };
    let asset = db::asset::store(&pool, &assets, sealed, new).await?;
    db::asset::show(&**pool, &[asset.id]).await?;
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, format!("/v1/assets/{}", asset.id)))
        .json(asset))
}

/// Stores the one file of the form and returns its name without directories.
async fn receive(form: &mut Form, upload: &mut Upload) -> Result<String, ApiError> {
    let mut name = None;
    while let Some(part) = form.next().await {
        let mut part = part?;
        if part.name != "file" || name.is_some() {
            return Err(no_file());
        }
        name = Some(file_name(part.file_name.as_deref().unwrap_or("file")));
        store(&mut part.content, upload).await?;
    }
    name.ok_or_else(no_file)
}

async fn store(field: &mut Field, upload: &mut Upload) -> Result<(), ApiError> {
    while let Some(chunk) = field.next().await {
        let chunk = chunk.map_err(malformed)?;
        if upload.size() + chunk.len() as u64 > MAX_BYTES {
            return Err(ApiError::TooLarge { limit: MAX_BYTES });
        }
        upload.push(&chunk).await?;
    }
    Ok(())
}
