//! Tenants.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgExecutor;
use utoipa::ToSchema;

use super::{Connection, Pool};
use crate::id::TenantId;

/// The owner of API keys, jobs and assets.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Tenant {
    /// The tenant's identifier.
    pub id: TenantId,
    /// A name, unique in the service.
    pub name: String,
    /// The share of worker time, relative to the weights of the other tenants.
    pub weight: i32,
    /// The maximum number of running jobs; null for no limit.
    #[schema(required)]
    pub max_running: Option<i32>,
    /// The creation time.
    pub created_at: DateTime<Utc>,
}

/// The outcome of deleting a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TenantDeletion {
    /// The tenant was deleted with its API keys.
    Gone,
    /// The tenant has jobs, files or uploaded skills.
    InUse,
    /// The tenant does not exist.
    Absent,
}

/// A change to a tenant's share of the workers. A field that is `None` does not change.
#[derive(Clone, Copy, Debug, Default)]
pub struct TenantChange {
    /// The new weight.
    pub weight: Option<i32>,
    /// The new maximum number of running jobs.
    pub max_running: Option<Option<i32>>,
}

/// Inserts a tenant. Returns `None` if the name is taken.
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

/// Returns the tenant with this name. Inserts it if it does not exist.
pub async fn get_or_insert(db: &Pool, name: &str) -> sqlx::Result<Tenant> {
    match insert(db, name).await? {
        Some(tenant) => Ok(tenant),
        None => get_by_name(db, name).await?.ok_or(sqlx::Error::RowNotFound),
    }
}

/// Returns the tenant with this id.
pub async fn get(db: impl PgExecutor<'_>, id: TenantId) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "select id, name, weight, max_running, created_at from tenant where id = $1",
        id.0
    )
    .fetch_optional(db)
    .await
}

/// Returns the tenant with this name.
pub async fn get_by_name(db: impl PgExecutor<'_>, name: &str) -> sqlx::Result<Option<Tenant>> {
    sqlx::query_as!(
        Tenant,
        "select id, name, weight, max_running, created_at from tenant where name = $1",
        name
    )
    .fetch_optional(db)
    .await
}

/// Lists a page of all tenants by name.
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

/// Changes a tenant. Returns `None` if it does not exist. Running jobs continue, even if they exceed the new maximum.
pub async fn update(
    db: impl PgExecutor<'_>,
    id: TenantId,
    change: TenantChange,
) -> sqlx::Result<Option<Tenant>> {
    // The lane is set to ready. The next claim determines its actual state.
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

/// Deletes a tenant without jobs, files or uploaded skills, together with all its other data.
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
    // Each row refers only to the tenant, so their order does not matter. The tenant is deleted last.
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
