//! Assets: who sees which bytes.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::{Connection, Pool};
use crate::asset::{Asset, AssetStore, Sealed, StoreError};
use crate::id::{AssetId, JobId, TenantId};

/// An asset about to be stored.
pub struct NewAsset<'a> {
    /// Whose it is.
    pub tenant: TenantId,
    /// The job that made it or brought it along.
    pub job: Option<JobId>,
    /// A plain file name.
    pub name: &'a str,
    /// Its media type.
    pub content_type: &'a str,
    /// Whether its owner sees it at once, or when the log says so.
    pub visible: bool,
}

/// The database or the asset store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreAssetError {
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Puts the bytes in their place and writes the row that needs them, both in the caller's transaction.
pub async fn store(
    db: &mut Connection,
    sealed: Sealed,
    new: NewAsset<'_>,
) -> Result<Asset, StoreAssetError> {
    hold_blob(&mut *db, &sealed.sha256).await?;
    let (sha256, size) = (sealed.sha256.clone(), sealed.size);
    sealed.place().await?;
    let id = AssetId::new();
    let row = sqlx::query!(
        "insert into asset (id, tenant_id, job_id, name, content_type, size, sha256, visible)
         values ($1, $2, $3, $4, $5, $6, decode($7, 'hex'), $8)
         returning created_at",
        id.0,
        new.tenant.0,
        new.job.map(|job| job.0),
        new.name,
        new.content_type,
        i64::try_from(size).unwrap_or(i64::MAX),
        sha256,
        new.visible,
    )
    .fetch_one(&mut *db)
    .await?;
    Ok(Asset {
        id,
        name: new.name.to_owned(),
        content_type: new.content_type.to_owned(),
        size: i64::try_from(size).unwrap_or(i64::MAX),
        sha256,
        created_at: row.created_at,
        content_url: Asset::content_url(id),
    })
}

/// Keeps others from removing the bytes until the caller's transaction ends: shared with those who add the same,
/// exclusive against who removes them.
pub(super) async fn hold_blob(db: &mut Connection, sha256: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "select pg_advisory_xact_lock_shared(hashtextextended($1, 0))",
        sha256
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The tenant's assets among `ids`, in no order.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    ids: &[AssetId],
) -> sqlx::Result<Vec<Asset>> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query!(
        r#"select id, name, content_type, size, encode(sha256, 'hex') as "sha256!", created_at
           from asset
           where tenant_id = $1 and id = any($2) and visible"#,
        tenant.0,
        &ids,
    )
    .fetch_all(db)
    .await?;
    let assets = rows.into_iter().map(|row| Asset {
        id: AssetId(row.id),
        name: row.name,
        content_type: row.content_type,
        size: row.size,
        sha256: row.sha256,
        created_at: row.created_at,
        content_url: Asset::content_url(AssetId(row.id)),
    });
    Ok(assets.collect())
}

/// The media types of those of the tenant's assets among `ids`, which new jobs are to begin with: for a while from now
/// on they stay.
pub async fn use_as_inputs(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    ids: &[AssetId],
) -> sqlx::Result<Vec<(AssetId, String)>> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    // Locked in one order by all, so that nobody waits in a circle; and one that is just being removed is not found.
    let rows = sqlx::query!(
        r#"with stale as materialized (
               select id from asset
               where tenant_id = $1 and id = any($2) and visible and used_at < now() - interval '10 minutes'
               order by id
               for update
           ),
           used as (
               update asset set used_at = now() from stale where asset.id = stale.id returning asset.id
           )
           select id, content_type
           from asset
           where tenant_id = $1 and id = any($2) and visible
             and (used_at >= now() - interval '10 minutes' or id in (select id from used))"#,
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

/// One of the tenant's assets.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: AssetId,
) -> sqlx::Result<Option<Asset>> {
    Ok(list(db, tenant, &[id]).await?.pop())
}

/// Gives a job its own copy of what another brought along or made, and returns its id; `None` if the
/// asset is not that job's.
pub async fn copy(
    db: &mut Connection,
    asset: AssetId,
    from: JobId,
    to: JobId,
) -> sqlx::Result<Option<AssetId>> {
    let copy = AssetId::new();
    // Nobody removes the bytes before this is committed; whether they are there is asked after that.
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

/// Removes one of the tenant's assets; returns its hash, or `None` if there is none.
pub async fn delete(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: AssetId,
) -> sqlx::Result<Option<String>> {
    sqlx::query_scalar!(
        r#"delete from asset where tenant_id = $1 and id = $2 and visible returning encode(sha256, 'hex') as "sha256!""#,
        tenant.0,
        id.0,
    )
    .fetch_optional(db)
    .await
}

/// Removes up to `limit` uploads that no job has begun with since `cutoff`, except for `inputs`; returns the hashes.
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

/// Removes up to `limit` of the files that nobody can announce any more: an hour old, and nobody has the lease under
/// which they were made. Returns the hashes.
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

/// Those of the hashes of which neither an asset nor a skill knows.
pub async fn list_unknown(db: impl PgExecutor<'_>, hashes: &[String]) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select hash as "hash!"
           from unnest($1::text[]) as hash
           where not exists (select from asset where sha256 = decode(hash, 'hex'))
             and not exists (select from skill_version where digest = decode(hash, 'hex'))"#,
        hashes,
    )
    .fetch_all(db)
    .await
}

/// Removes the bytes if no asset and no skill needs them any more. Called after the rows' deletion is committed:
/// a crash in between leaves bytes without a row, never a row without bytes.
pub async fn release_blob(
    db: &Pool,
    assets: &AssetStore,
    sha256: &str,
) -> Result<(), StoreAssetError> {
    let mut transaction = db.begin().await?;
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended($1, 0))",
        sha256
    )
    .execute(&mut *transaction)
    .await?;
    let needed = sqlx::query_scalar!(
        r#"select exists (select from asset where sha256 = decode($1, 'hex'))
               or exists (select from skill_version where digest = decode($1, 'hex')) as "exists!""#,
        sha256,
    )
    .fetch_one(&mut *transaction)
    .await?;
    if !needed {
        assets.delete(sha256).await?;
    }
    transaction.commit().await?;
    Ok(())
}
