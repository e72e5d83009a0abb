//! Assets: names, owners and visibility of stored files.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use super::blob::{self, BlobError};
use super::{Connection, Pool};
use crate::asset::{Asset, AssetStore, SealedUpload};
use crate::id::{AssetId, JobId, TenantId};

/// An asset to store.
pub struct NewAsset<'a> {
    /// The tenant.
    pub tenant: TenantId,
    /// The job that created the asset or has it as an inline input.
    pub job: Option<JobId>,
    /// A plain file name.
    pub name: &'a str,
    /// The media type.
    pub content_type: &'a str,
}

/// Stores bytes with an invisible row. The caller makes the row visible, announces it in the log, or discards it.
/// Otherwise maintenance deletes it after an hour, unless it is an output of a running job.
///
/// The row is committed first, and only while the same content is not being deleted. Therefore the bytes are not
/// deleted while they are written, although the write holds no lock and no connection. The bytes of a visible asset
/// always exist.
pub async fn store(
    db: &Pool,
    assets: &AssetStore,
    sealed: SealedUpload,
    new: NewAsset<'_>,
) -> Result<Asset, BlobError> {
    let (sha256, size) = (sealed.sha256.clone(), sealed.size);
    let inserting = || insert(db, &sha256, size, &new);
    let asset = blob::when_free(db, assets, &sha256, inserting).await?;
    if let Err(error) = sealed.place().await {
        // Maintenance deletes bytes that the failed store may have. Deleting them now would also fail.
        if let Err(error) = delete_invisible(db, &[asset.id.0]).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "cannot delete the row of an asset without content; maintenance deletes it after an hour"
            );
        }
        return Err(error.into());
    }
    Ok(asset)
}

async fn insert(
    db: impl PgExecutor<'_>,
    sha256: &str,
    size: u64,
    new: &NewAsset<'_>,
) -> sqlx::Result<Asset> {
    let id = AssetId::new();
    let size = i64::try_from(size).unwrap_or(i64::MAX);
    let row = sqlx::query!(
        "with held as materialized (select pg_advisory_xact_lock_shared(hashtextextended($7, 0)))
         insert into asset (id, tenant_id, job_id, name, content_type, size, sha256, visible)
         select $1, $2, $3, $4, $5, $6, decode($7, 'hex'), false from held
         returning created_at",
        id.0,
        new.tenant.0,
        new.job.map(|job| job.0),
        new.name,
        new.content_type,
        size,
        sha256,
    )
    .fetch_one(db)
    .await?;
    Ok(Asset {
        id,
        name: new.name.to_owned(),
        content_type: new.content_type.to_owned(),
        size,
        sha256: sha256.to_owned(),
        created_at: row.created_at,
        content_url: Asset::content_url(id),
    })
}

/// Makes stored assets visible. Returns an error if one of them was already deleted because an hour has passed.
pub async fn show(db: impl PgExecutor<'_>, ids: &[AssetId]) -> sqlx::Result<()> {
    let uuids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let shown = sqlx::query!(
        "update asset set visible = true where id = any($1) and not visible",
        &uuids,
    )
    .execute(db)
    .await?;
    if shown.rows_affected() < ids.len() as u64 {
        return Err(sqlx::Error::RowNotFound);
    }
    Ok(())
}

/// Deletes invisible assets, and their bytes unless another row refers to them.
pub async fn discard(db: &Pool, assets: &AssetStore, ids: &[AssetId]) -> Result<(), BlobError> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    for sha256 in delete_invisible(db, &ids).await? {
        blob::release(db, assets, &sha256).await?;
    }
    Ok(())
}

async fn delete_invisible(db: impl PgExecutor<'_>, ids: &[Uuid]) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"delete from asset where id = any($1) and not visible returning encode(sha256, 'hex') as "sha256!""#,
        ids,
    )
    .fetch_all(db)
    .await
}

/// Lists the tenant's assets among `ids`, in no particular order.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    ids: &[AssetId],
) -> sqlx::Result<Vec<Asset>> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query_as!(
        StoredAssetRow,
        r#"select id, name, content_type, size, encode(sha256, 'hex') as "sha256!", created_at
           from asset
           where tenant_id = $1 and id = any($2) and visible"#,
        tenant.0,
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Asset::from).collect())
}

/// Lists the tenant's assets before `before`, newest first. With `job`, lists only the outputs and inline inputs of
/// the job.
pub async fn list_page(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    job: Option<JobId>,
    before: Option<AssetId>,
    limit: i64,
) -> sqlx::Result<Vec<Asset>> {
    let rows = sqlx::query_as!(
        StoredAssetRow,
        r#"select id, name, content_type, size, encode(sha256, 'hex') as "sha256!", created_at
           from asset
           where tenant_id = $1 and visible
             and ($2::uuid is null or job_id = $2)
             and ($3::uuid is null or id < $3)
           order by id desc
           limit $4"#,
        tenant.0,
        job.map(|id| id.0),
        before.map(|id| id.0),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Asset::from).collect())
}

/// Marks the tenant's assets among `ids` as used by new jobs and returns their media types. Retention then keeps them
/// for a while.
pub async fn use_as_inputs(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    ids: &[AssetId],
) -> sqlx::Result<Vec<(AssetId, String)>> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    // Rows are locked in the same order everywhere, to avoid deadlocks. An asset that is being deleted is not found.
    // The condition on `used_at` is not part of the statement with the lock: after a wait for the same use by another
    // request, it would be false, and the asset would be missing.
    let rows = sqlx::query!(
        r#"with stale as materialized (
               select id from asset
               where tenant_id = $1 and id = any($2) and visible and used_at < now() - interval '10 minutes'
           ),
           held as materialized (
               select asset.id
               from asset
               join stale on stale.id = asset.id
               where asset.visible
               order by asset.id
               for update of asset
           ),
           used as (
               update asset set used_at = now() from held where asset.id = held.id
           )
           select id, content_type
           from asset
           where tenant_id = $1 and id = any($2) and visible
             and (used_at >= now() - interval '10 minutes' or id in (select id from held))"#,
        tenant.0,
        &ids,
    )
    .fetch_all(db)
    .await?;
    let found = rows
        .into_iter()
        .map(|row| (AssetId(row.id), row.content_type));
    Ok(found.collect())
}

/// Returns one of the tenant's assets.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: AssetId,
) -> sqlx::Result<Option<Asset>> {
    Ok(list(db, tenant, &[id]).await?.pop())
}

/// Copies an input or output of job `from` to job `to` and returns the id of the copy. Returns `None` if the asset
/// does not belong to `from`.
pub async fn copy(
    db: &mut Connection,
    asset: AssetId,
    from: JobId,
    to: JobId,
) -> sqlx::Result<Option<AssetId>> {
    let copy = AssetId::new();
    // The lock prevents deletion of the bytes until this is committed. The next statement checks that the asset
    // exists.
    sqlx::query!(
        "select pg_advisory_xact_lock_shared(hashtextextended(encode(sha256, 'hex'), 0))
         from asset
         where id = $1",
        asset.0,
    )
    .execute(&mut *db)
    .await?;
    let copied = sqlx::query!(
        "insert into asset (id, tenant_id, job_id, name, content_type, size, sha256, visible)
         select $3, tenant_id, $4, name, content_type, size, sha256, true
         from asset
         where id = $1 and job_id = $2 and visible",
        asset.0,
        from.0,
        copy.0,
        to.0,
    )
    .execute(db)
    .await?;
    Ok((copied.rows_affected() > 0).then_some(copy))
}

/// Deletes one of the tenant's assets with its preview. Returns the hashes of the bytes, or nothing if there is no
/// such asset.
pub async fn delete(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: AssetId,
) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"with gone as (
               delete from asset where tenant_id = $1 and id = $2 and visible returning id, sha256
           )
           select encode(sha256, 'hex') as "sha256!" from gone
           union
           select encode(file.sha256, 'hex') from gone join preview_file as file on file.asset_id = gone.id"#,
        tenant.0,
        id.0,
    )
    .fetch_all(db)
    .await
}

/// Deletes up to `limit` uploads that no job has used since `cutoff`, except `inputs`. Returns their hashes.
pub async fn delete_unused(
    db: impl PgExecutor<'_>,
    cutoff: DateTime<Utc>,
    inputs: &[AssetId],
    limit: i64,
) -> sqlx::Result<Vec<String>> {
    let inputs: Vec<_> = inputs.iter().map(|id| id.0).collect();
    sqlx::query_scalar!(
        r#"delete from asset
           where id in (
               select id from asset
               where visible and job_id is null and used_at < $1 and id <> all($2)
               order by used_at
               limit $3
               for update skip locked
           )
           returning encode(sha256, 'hex') as "sha256!""#,
        cutoff,
        &inputs,
        limit,
    )
    .fetch_all(db)
    .await
}

/// Deletes up to `limit` invisible assets that can no longer be announced: they are more than an hour old, and the
/// lease that created them has ended. Returns their hashes.
pub async fn delete_unseen(db: impl PgExecutor<'_>, limit: i64) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"delete from asset
           where id in (
               select id from asset
               where not visible
                 and created_at < now() - interval '1 hour'
                 and not exists (
                     select from run
                     where run.job_id = asset.job_id and run.state = 'running' and run.claimed_at <= asset.created_at
                 )
               limit $1
               for update skip locked
           )
           returning encode(sha256, 'hex') as "sha256!""#,
        limit,
    )
    .fetch_all(db)
    .await
}

struct StoredAssetRow {
    id: Uuid,
    name: String,
    content_type: String,
    size: i64,
    sha256: String,
    created_at: DateTime<Utc>,
}

impl From<StoredAssetRow> for Asset {
    fn from(row: StoredAssetRow) -> Self {
        let id = AssetId(row.id);
        Self {
            id,
            name: row.name,
            content_type: row.content_type,
            size: row.size,
            sha256: row.sha256,
            created_at: row.created_at,
            content_url: Self::content_url(id),
        }
    }
}
