//! Tenants.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgExecutor;
use utoipa::ToSchema;

use super::{Connection, Pool};
use crate::id::TenantId;

/// The owner of keys, jobs and assets.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Tenant {
    /// The tenant's identifier.
    pub id: TenantId,
    /// A name, unique in the service.
    pub name: String,
    /// Its share of the workers' time, beside the weights of the others.
    pub weight: i32,
    /// The cap on its running jobs; null for none.
    #[schema(required)]
    pub max_running: Option<i32>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// What became of a tenant that was to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantDeletion {
    /// It is gone, with its keys.
    Gone,
    /// It has jobs, files or uploaded skills.
    InUse,
    /// There is none.
    Absent,
}

/// The part of the workers that a tenant may have.
#[derive(Clone, Copy, Debug, Default)]
pub struct TenantChange {
    /// Its new weight, if that changes.
    pub weight: Option<i32>,
    /// The new cap on running jobs, if it changes.
    pub max_running: Option<Option<i32>>,
}

/// Makes a tenant; `None` if the name is taken.
pub async fn insert(db: impl PgExecutor<'_>, name: &str) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "insert into tenant (id, name)
         values ($1, $2)
         on conflict (name) do nothing
         returning id, name, weight, max_running, created_at",
        TenantId::new().0,
        name,
    )
    .fetch_optional(db)
    .await
}

/// The tenant of that name, made if there is none.
pub async fn get_or_insert(db: &Pool, name: &str) -> sqlx::Result<Tenant> {
    match insert(db, name).await? {
        Some(tenant) => Ok(tenant),
        None => get_by_name(db, name).await?.ok_or(sqlx::Error::RowNotFound),
    }
}

/// The tenant of that id.
pub async fn get(db: impl PgExecutor<'_>, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "select id, name, weight, max_running, created_at from tenant where id = $1",
        id.0
    )
    .fetch_optional(db)
    .await
}

/// The tenant of that name.
pub async fn get_by_name(db: impl PgExecutor<'_>, name: &str) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "select id, name, weight, max_running, created_at from tenant where name = $1",
        name
    )
    .fetch_optional(db)
    .await
}

/// All tenants by name, a page at a time.
pub async fn list(
    db: impl PgExecutor<'_>,
    after: Option<&str>,
    limit: i64,
) -> sqlx::Result<Vec<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "select id, name, weight, max_running, created_at
         from tenant
         where $1::text is null or name > $1
         order by name
         limit $2",
        after,
        limit,
    )
    .fetch_all(db)
    .await
}

/// Changes a tenant; `None` if there is none. Jobs that run go on, even if they are more than may from now on.
pub async fn update(
    db: impl PgExecutor<'_>,
    id: TenantId,
    change: TenantChange,
) -> sqlx::Result<Option<Tenant>> {
    // The lane is open, so that the next claim finds out how it stands now.
    sqlx::query_as!(
        Tenant,
        "update tenant set
             weight = coalesce($2, weight),
             max_running = case when $3 then $4 else max_running end,
             lane = 'ready'
         where id = $1
         returning id, name, weight, max_running, created_at",
        id.0,
        change.weight,
        change.max_running.is_some(),
        change.max_running.flatten(),
    )
    .fetch_optional(db)
    .await
}

/// Removes a tenant that has no jobs, files and uploaded skills, with all else that is its own.
pub async fn delete(db: &mut Connection, id: TenantId) -> sqlx::Result<TenantDeletion> {
    let locked = sqlx::query_scalar!("select id from tenant where id = $1 for update", id.0)
        .fetch_optional(&mut *db)
        .await?;
    if locked.is_none() {
        return Ok(TenantDeletion::Absent);
    }
    let is_in_use = sqlx::query_scalar!(
        r#"select exists (select from job where tenant_id = $1)
               or exists (select from asset where tenant_id = $1)
               or exists (select from skill_version where tenant_id = $1) as "exists!""#,
        id.0,
    )
    .fetch_one(&mut *db)
    .await?;
    if is_in_use {
        return Ok(TenantDeletion::InUse);
    }
    // Each refers to the tenant alone, so their order does not matter; the tenant is last.
    sqlx::query!(
        "with
             keys as (delete from api_key where tenant_id = $1),
             idempotency_keys as (delete from idempotency_key where tenant_id = $1),
             schedules as (delete from schedule where tenant_id = $1),
             secrets as (delete from secret where tenant_id = $1),
             conversations as (delete from conversation where tenant_id = $1),
             reservations as (delete from budget_reservation where tenant_id = $1),
             limits as (delete from submit_limit where tenant_id = $1),
             versions as (delete from agent_version where tenant_id = $1)
         delete from skill where tenant_id = $1",
        id.0,
    )
    .execute(&mut *db)
    .await?;
    for delete in [
        sqlx::query!("delete from agent where tenant_id = $1", id.0),
        sqlx::query!("delete from tenant_budget where tenant_id = $1", id.0),
        sqlx::query!("delete from tenant where id = $1", id.0),
    ] {
        delete.execute(&mut *db).await?;
    }
    Ok(TenantDeletion::Gone)
}
