//! Previews of office documents: requested when a job ends, rendered by a worker, deleted with their asset.

use std::time::Duration;

use serde::Serialize;
use sqlx::PgExecutor;
use utoipa::ToSchema;
use uuid::Uuid;

use super::Connection;
use crate::id::{AssetId, JobId, TenantId};

/// The media types of documents that have previews.
const CONTENT_TYPES: [&str; 11] = [
    "application/msword",
    "application/rtf",
    "application/vnd.ms-excel",
    "application/vnd.ms-powerpoint",
    "application/vnd.oasis.opendocument.presentation",
    "application/vnd.oasis.opendocument.spreadsheet",
    "application/vnd.oasis.opendocument.text",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "text/rtf",
];
/// The page number of the PDF.
pub const PDF_PAGE: i32 = 0;

/// The state of a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PreviewStatus {
    /// A worker will render the preview.
    Pending,
    /// The pages are available.
    Ready,
    /// The document could not be rendered.
    Failed,
    /// The preview is not rendered, and no worker with LibreOffice is available.
    Unavailable,
}

#[derive(Debug, sqlx::Type)]
#[sqlx(type_name = "preview_status", rename_all = "snake_case")]
enum StoredPreviewStatus {
    Pending,
    Ready,
    Failed,
}

/// The preview of a document.
#[derive(Debug)]
pub struct Preview {
    /// The state.
    pub status: PreviewStatus,
    /// The reason why rendering failed.
    pub reason: Option<String>,
    /// The number of pages of the document, once it is known.
    pub total_pages: Option<i32>,
    /// The images in page order.
    pub pages: Vec<PreviewFile>,
}

/// A file of a preview.
#[derive(Debug)]
pub struct PreviewFile {
    /// The number of the page that the image shows, or [`PDF_PAGE`] for the PDF.
    pub page: i32,
    /// The size in bytes.
    pub size: i64,
    /// The SHA-256 of the content in hexadecimal.
    pub sha256: String,
    /// The width of an image in pixels.
    pub width: i32,
    /// The height of an image in pixels.
    pub height: i32,
}

/// A document that a worker is rendering.
#[derive(Debug)]
pub struct ClaimedPreview {
    /// The document.
    pub asset: AssetId,
    /// The number of the rendering attempt.
    pub attempt: i16,
    /// The media type of the document.
    pub content_type: String,
    /// The size of the document in bytes.
    pub size: i64,
    /// The SHA-256 of the document in hexadecimal.
    pub sha256: String,
}

/// Requests previews of the documents of jobs that have ended.
pub async fn request(db: impl PgExecutor<'_>, ended: &[JobId]) -> sqlx::Result<()> {
    let jobs: Vec<_> = ended.iter().map(|job| job.0).collect();
    let types = CONTENT_TYPES.map(str::to_owned);
    sqlx::query!(
        "insert into preview (asset_id)
         select id from asset
         where job_id = any($1) and visible and content_type = any($2)
         order by id
         for key share
         on conflict do nothing",
        &jobs,
        &types,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Claims the document that has waited longest, for `lease`. Deletes the files of an unfinished earlier rendering.
pub async fn claim(db: &mut Connection, lease: Duration) -> sqlx::Result<Option<ClaimedPreview>> {
    let claimed = sqlx::query_as!(
        ClaimedPreview,
        r#"with due as materialized (
               select asset_id from preview
               where status = 'pending' and due_at <= now()
               order by due_at
               limit 1
               for update skip locked
           )
           update preview set attempt = attempt + 1, due_at = now() + $1 * interval '1 second'
           from due
           join asset on asset.id = due.asset_id
           where preview.asset_id = due.asset_id
           returning asset.id as "asset: AssetId", attempt, content_type, size, encode(sha256, 'hex') as "sha256!""#,
        lease.as_secs_f64(),
    )
    .fetch_optional(&mut *db)
    .await?;
    if let Some(claimed) = &claimed {
        sqlx::query!(
            "delete from preview_file where asset_id = $1",
            claimed.asset.0
        )
        .execute(db)
        .await?;
    }
    Ok(claimed)
}

/// Records the files of a rendering before their bytes are stored, because bytes with a row are not deleted. Returns
/// `false` if another worker renders the document or it was deleted.
pub async fn add_files(
    db: &mut Connection,
    claimed: &ClaimedPreview,
    files: &[PreviewFile],
) -> sqlx::Result<bool> {
    let held = sqlx::query_scalar!(
        "select asset_id from preview where asset_id = $1 and attempt = $2 and status = 'pending' for update",
        claimed.asset.0,
        claimed.attempt,
    )
    .fetch_optional(&mut *db)
    .await?;
    if held.is_none() {
        return Ok(false);
    }
    let hashes: Vec<_> = files.iter().map(|file| file.sha256.clone()).collect();
    // The locks prevent deletion of these bytes until the rows are committed. Their order avoids deadlocks.
    sqlx::query!(
        "select pg_advisory_xact_lock_shared(hashtextextended(hash, 0))
         from (select hash from unnest($1::text[]) as hash order by hash) as ordered",
        &hashes,
    )
    .execute(&mut *db)
    .await?;
    let pages: Vec<_> = files.iter().map(|file| file.page).collect();
    let sizes: Vec<_> = files.iter().map(|file| file.size).collect();
    let widths: Vec<_> = files.iter().map(|file| file.width).collect();
    let heights: Vec<_> = files.iter().map(|file| file.height).collect();
    sqlx::query!(
        "insert into preview_file (asset_id, page, size, sha256, width, height)
         select $1, page, size, decode(hash, 'hex'), width, height
         from unnest($2::int[], $3::bigint[], $4::text[], $5::int[], $6::int[]) as file (page, size, hash, width, height)",
        claimed.asset.0,
        &pages,
        &sizes,
        &hashes,
        &widths,
        &heights,
    )
    .execute(db)
    .await?;
    Ok(true)
}

/// Publishes a preview whose files are stored.
pub async fn finish(
    db: impl PgExecutor<'_>,
    claimed: &ClaimedPreview,
    total_pages: i32,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update preview set status = 'ready', total_pages = $3
         where asset_id = $1 and attempt = $2 and status = 'pending'",
        claimed.asset.0,
        claimed.attempt,
        total_pages,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Records why a preview failed. It is not retried.
pub async fn fail(
    db: impl PgExecutor<'_>,
    claimed: &ClaimedPreview,
    reason: &str,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update preview set status = 'failed', reason = $3
         where asset_id = $1 and attempt = $2 and status = 'pending'",
        claimed.asset.0,
        claimed.attempt,
        reason,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Returns the preview of one of the tenant's documents, or `None` if the asset has no preview and will get none. A
/// preview is pending from the moment when the job has created the document.
pub async fn get(
    db: &mut Connection,
    tenant: TenantId,
    asset: AssetId,
) -> sqlx::Result<Option<Preview>> {
    let types = CONTENT_TYPES.map(str::to_owned);
    let row = sqlx::query!(
        r#"select status as "status?: StoredPreviewStatus", reason, total_pages,
               exists (select from worker where stopped_at is null and renders_previews) as "is_rendered!"
           from asset
           left join preview on preview.asset_id = asset.id
           where asset.id = $2 and tenant_id = $1 and visible
             and (
                 preview.asset_id is not null
                 or content_type = any($3) and (
                     exists (select from run where run.job_id = asset.job_id)
                     or exists (select from uncounted_end as ended where ended.job_id = asset.job_id)
                 )
             )"#,
        tenant.0,
        asset.0,
        &types,
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let status = match row.status.unwrap_or(StoredPreviewStatus::Pending) {
        StoredPreviewStatus::Pending if row.is_rendered => PreviewStatus::Pending,
        StoredPreviewStatus::Pending => PreviewStatus::Unavailable,
        StoredPreviewStatus::Ready => PreviewStatus::Ready,
        StoredPreviewStatus::Failed => PreviewStatus::Failed,
    };
    let pages = match status {
        PreviewStatus::Ready => list_pages(db, asset.0).await?,
        _ => Vec::new(),
    };
    Ok(Some(Preview {
        status,
        reason: row.reason,
        total_pages: row.total_pages,
        pages,
    }))
}

async fn list_pages(db: &mut Connection, asset: Uuid) -> sqlx::Result<Vec<PreviewFile>> {
    sqlx::query_as!(
        PreviewFile,
        r#"select page, size, encode(sha256, 'hex') as "sha256!", width, height
           from preview_file
           where asset_id = $1 and page > 0
           order by page"#,
        asset,
    )
    .fetch_all(db)
    .await
}

/// Returns a file of a preview that is ready.
pub async fn get_file(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    asset: AssetId,
    page: i32,
) -> sqlx::Result<Option<PreviewFile>> {
    sqlx::query_as!(
        PreviewFile,
        r#"select page, file.size, encode(file.sha256, 'hex') as "sha256!", width, height
           from preview_file as file
           join preview on preview.asset_id = file.asset_id
           join asset on asset.id = file.asset_id
           where asset.id = $2 and tenant_id = $1 and visible and status = 'ready' and page = $3"#,
        tenant.0,
        asset.0,
        page,
    )
    .fetch_optional(db)
    .await
}
