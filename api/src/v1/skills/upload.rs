//! `POST /v1/skills`.

use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::LOCATION;
use actix_web::web::{Bytes, BytesMut, Data};
use actix_web::{HttpResponse, post};
use anyhow::Context;
use futures_util::StreamExt;
use shared::asset::AssetStore;
use shared::db::asset::NewAsset;
use shared::db::skill::{MAX_SKILLS, SkillPut};
use shared::db::{self, Pool};
use shared::id::TenantId;
use shared::skill::{FilesError, FilesRefusal, MAX_PACKED_BYTES, Skill, Unreadable};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::release_versions;
use super::view::SkillView;
use crate::auth::Caller;
use crate::form::{FileForm, Form, malformed, no_file};
use crate::problem::{ApiError, ErrorCode, Problem};

/// The maximum number of bytes read from an archive that is too large. A client that is still sending would not read
/// the response.
const MAX_READ_BYTES: usize = 16 * MAX_PACKED_BYTES;
/// The maximum number of archives that are unpacked at once. Each one may need twice the maximum size of a skill in
/// memory.
const UNPACKED_AT_ONCE: usize = 2;
/// The maximum time for which an archive waits to be unpacked.
const TURN_TIMEOUT: Duration = Duration::from_secs(30);

/// The limit on concurrent unpacking of archives.
pub(crate) struct Unpacker(Arc<Semaphore>);

impl Default for Unpacker {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(UNPACKED_AT_ONCE)))
    }
}

impl Unpacker {
    /// Reads an archive as a skill, in a separate thread, and packs it in its stored form.
    async fn unpack(&self, archive: Bytes) -> Result<(Skill, Vec<u8>), ApiError> {
        let busy = || anyhow::anyhow!("too many archives are waiting to be unpacked");
        let turn = timeout(TURN_TIMEOUT, self.0.clone().acquire_owned()).await;
        let turn = turn.map_err(|_| ApiError::Unavailable(busy()))?;
        let unpacking = actix_web::web::block(move || {
            // The thread continues after the client has disconnected, so it holds the permit until its end.
            let _turn = turn;
            let skill = Skill::unpack(&archive)?;
            let packed = skill.files.pack();
            Ok((skill, packed))
        });
        unpacking
            .await
            .context("unpacking panicked")
            .map_err(ApiError::Internal)?
            .map_err(refused)
    }
}

/// Uploads a skill.
///
/// The body is a form with one part, `file`: a ZIP or tar.gz archive of a folder in the Agent Skills format, or of
/// the contents of such a folder.
///
/// The skill belongs to the tenant, and takes precedence over a skill of the service with the same name. Each upload
/// that changes something creates a version. A job runs the version that was the newest when the job was accepted. An
/// archive may have at most 8 MiB, and unpacked at most 32 MiB in 500 files. It may contain only files and folders,
/// and no links.
#[utoipa::path(tag = "skills", request_body(content = FileForm, content_type = "multipart/form-data"), responses(
    (status = 201, description = "The skill, in its new version", body = SkillView,
        headers(("Location" = String, description = "The skill's path"))),
    (status = 200, description = "The skill, whose newest version has the same content", body = SkillView),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/skills")]
pub(crate) async fn upload_skill(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    unpacker: Data<Unpacker>,
    mut form: Form,
) -> Result<HttpResponse, ApiError> {
    let archive = receive(&mut form).await?;
    let (skill, packed) = unpacker.unpack(archive).await?;
    let document = skill.files.skill_file().map(|text| text.to_vec());
    let document = String::from_utf8(document.unwrap_or_default())
        .map_err(|error| ApiError::Internal(error.into()))?;
    // Before anything is stored, so that its failure leaves nothing behind.
    let workers = db::worker::list(&**pool).await?;
    let mut upload = assets.upload();
    upload.push(&packed).await?;
    let files = NewAsset {
        tenant: caller.tenant,
        job: None,
        name: &skill.name,
        content_type: "application/x-tar",
    };
    let files = db::asset::store(&pool, &assets, upload.seal().await?, files).await?;
    let put = put(&pool, caller.tenant, &skill, &document, &files.sha256).await;
    if let Err(error) = db::asset::discard(&pool, &assets, &[files.id]).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            "cannot delete an uploaded archive; maintenance will retry"
        );
    }
    let put = put?;
    let (mut answer, stored) = match put {
        SkillPut::Created(stored) => (HttpResponse::Created(), stored),
        SkillPut::Unchanged(stored) => (HttpResponse::Ok(), stored),
        SkillPut::TooMany => return Err(too_many()),
    };
    // The previous version is deleted if it was only kept because it was the newest.
    release_versions(&pool, &assets, caller.tenant, &stored.name).await;
    Ok(answer
        .insert_header((LOCATION, format!("/v1/skills/{}", stored.name)))
        .json(SkillView::uploaded(&stored, &skill, &workers)))
}

async fn put(
    pool: &Pool,
    tenant: TenantId,
    skill: &Skill,
    document: &str,
    digest: &str,
) -> db::Result<SkillPut> {
    let mut transaction = pool.begin().await?;
    let put = db::skill::put(&mut transaction, tenant, skill, document, digest).await?;
    transaction.commit().await?;
    Ok(put)
}

/// Reads the archive from the form. Returns an error if the archive is too large.
async fn receive(form: &mut Form) -> Result<Bytes, ApiError> {
    let mut archive = None;
    let mut is_too_large = false;
    while let Some(part) = form.next().await {
        let mut part = part?;
        if part.name != "file" || archive.is_some() {
            return Err(no_file());
        }
        let mut bytes = BytesMut::new();
        let mut size = 0;
        while let Some(chunk) = part.content.next().await
            && size <= MAX_READ_BYTES
        {
            let chunk = chunk.map_err(malformed)?;
            size += chunk.len();
            if size <= MAX_PACKED_BYTES {
                bytes.extend_from_slice(&chunk);
            }
        }
        is_too_large = size > MAX_PACKED_BYTES;
        archive = Some(bytes.freeze());
        if size > MAX_READ_BYTES {
            break;
        }
    }
    // The error is returned only now, after the end of the form has been read, too.
    if is_too_large {
        return Err(refused(
            FilesError::of_all(FilesRefusal::PackedTooLarge).into(),
        ));
    }
    archive.ok_or_else(no_file)
}

fn refused(error: Unreadable) -> ApiError {
    match error {
        Unreadable::Files(error) => ApiError::field("/file", error),
        Unreadable::Skill(error) => ApiError::field("/file", format!("SKILL.md: {error}")),
        Unreadable::Io(error) => ApiError::Internal(error.into()),
    }
}

fn too_many() -> ApiError {
    ApiError::Conflict {
        code: ErrorCode::TooManySkills,
        detail: format!(
            "this tenant has {MAX_SKILLS} uploaded skills, the maximum; delete one first"
        ),
    }
}
