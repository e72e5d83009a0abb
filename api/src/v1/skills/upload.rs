//! `PUT /v1/skills/{name}`.

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

use super::view::SkillView;
use crate::auth::Caller;
use crate::form::{FileForm, Form, malformed, no_file};
use crate::problem::{ApiError, ErrorCode, Problem};

/// What is read of an archive that is too large: who is still sending does not hear the answer.
const MAX_READ_BYTES: usize = 16 * MAX_PACKED_BYTES;
/// Archives that are unpacked at once: each may take as much memory as a skill may be large, twice.
const UNPACKED_AT_ONCE: usize = 2;
/// How long an archive waits for its turn.
const TURN_PATIENCE: Duration = Duration::from_secs(30);

/// Where archives are unpacked.
pub(crate) struct Unpacker(Semaphore);

impl Default for Unpacker {
    fn default() -> Self {
        Self(Semaphore::new(UNPACKED_AT_ONCE))
    }
}

impl Unpacker {
    /// Reads an archive as a skill, on a thread of its own, and packs it as it is stored.
    async fn unpack(&self, archive: Bytes) -> Result<(Skill, Vec<u8>), ApiError> {
        let busy = || anyhow::anyhow!("too many archives are waiting to be unpacked");
        let turn = timeout(TURN_PATIENCE, self.0.acquire()).await;
        let turn = turn.map_err(|_| ApiError::Unavailable(busy()))?;
        let unpacking = actix_web::web::block(move || {
            let skill = Skill::unpack(&archive)?;
            let packed = skill.files.pack();
            Ok((skill, packed))
        });
        let unpacked = unpacking.await;
        drop(turn);
        unpacked
            .context("unpacking panicked")
            .map_err(ApiError::Internal)?
            .map_err(refused)
    }
}

/// Uploads a skill: a form with the one part `file`, a ZIP archive or a tar.gz of a folder in the Agent Skills
/// format, or of what is in it.
///
/// It is the tenant's own from then on, and stands before a skill of the service of the same name. Each upload that
/// changes something is a version; jobs run the one that was the newest when they were accepted. An archive may
/// have 8 MiB, unpacked 32 MiB in 500 files, and neither links nor anything else that is no file or folder.
#[utoipa::path(tag = "skills", request_body(content = FileForm, content_type = "multipart/form-data"), responses(
    (status = 201, description = "The skill, in its new version", body = SkillView,
        headers(("Location" = String, description = "The skill's path"))),
    (status = 200, description = "The skill, whose newest version is equal", body = SkillView),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
    db::asset::discard(&pool, &assets, &[files.id]).await?;
    let put = put?;
    let (mut answer, stored) = match put {
        SkillPut::Created(stored) => (HttpResponse::Created(), stored),
        SkillPut::Unchanged(stored) => (HttpResponse::Ok(), stored),
        SkillPut::TooMany => return Err(too_many()),
    };
    // The version before it may have been nobody's but the name's.
    let name = Some((caller.tenant, &*stored.name));
    db::skill::release(&pool, &assets, name).await?;
    let workers = db::worker::list(&**pool).await?;
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

/// The archive, as far as it is not too large.
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
    // Only now, when the end of the form has been read, too.
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
        detail: format!("there are {MAX_SKILLS} skills of your own; delete one first"),
    }
}
