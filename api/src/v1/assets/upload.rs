use actix_multipart::{Field, Multipart};
use actix_web::http::header::{ContentDisposition, LOCATION};
use actix_web::web::Data;
use actix_web::{HttpResponse, post};
use futures_util::StreamExt;
use shared::asset::{Asset, AssetStore, Upload, content_type_of, file_name};
use shared::db::asset::NewAsset;
use shared::db::{self, Pool};

use crate::auth::Caller;
use crate::form::{FileForm, malformed, no_file};
use crate::problem::{ApiError, Problem};

/// The largest file.
const MAX_BYTES: u64 = 2 * 1024 * 1024 * 1024;

/// Uploads a file: a form with the one part `file`. It is stored as it arrives.
#[utoipa::path(tag = "assets", request_body(content = FileForm, content_type = "multipart/form-data"), responses(
    (status = 201, description = "The asset", body = Asset, headers(("Location" = String, description = "The asset's path"))),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[post("/assets")]
pub(crate) async fn upload_asset(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    mut form: Multipart,
) -> Result<HttpResponse, ApiError> {
    let mut upload = assets.upload();
    let mut name = None;
    let received = receive(&mut form, &mut upload, &mut name).await;
    let name = match received {
        Ok(()) => name.ok_or_else(no_file),
        Err(error) => Err(error),
    };
    let name = match name {
        Ok(name) => name,
        Err(error) => {
            upload.abort().await?;
            return Err(error);
        }
    };
    let sealed = upload.seal().await?;
    let content_type = content_type_of(&name, &sealed.head);
    let new = NewAsset {
        tenant: caller.tenant,
        job: None,
        name: &name,
        content_type: &content_type,
        visible: true,
    };
    let mut transaction = pool.begin().await?;
    let asset = db::asset::store(&mut transaction, sealed, new).await?;
    transaction.commit().await?;
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, format!("/v1/assets/{}", asset.id)))
        .json(asset))
}

async fn receive(
    form: &mut Multipart,
    upload: &mut Upload,
    name: &mut Option<String>,
) -> Result<(), ApiError> {
    while let Some(field) = form.next().await {
        let mut field = field.map_err(malformed)?;
        if field.name() != Some("file") || name.is_some() {
            return Err(no_file());
        }
        let claimed = field.content_disposition().and_then(claimed_name);
        *name = Some(file_name(claimed.as_deref().unwrap_or("file")));
        store(&mut field, upload).await?;
    }
    Ok(())
}

/// The name in either form; the extended one (RFC 5987) is there for what the other cannot say.
fn claimed_name(disposition: &ContentDisposition) -> Option<String> {
    let extended = disposition.get_filename_ext();
    let extended = extended.and_then(|name| String::from_utf8(name.value.clone()).ok());
    extended.or_else(|| disposition.get_filename().map(str::to_owned))
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
