//! API keys.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use crate::id::{KeyId, TenantId};
use crate::key::{ApiKey, KeyHash, Scope, SecretKey, hash};

/// Stores an API key of the tenant.
pub async fn insert(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    name: &str,
    scopes: &[Scope],
    key: &SecretKey,
) -> sqlx::Result<ApiKey> {
    sqlx::query_as!(
        ApiKey,
        r#"insert into api_key (id, tenant_id, name, hash, hint, scopes)
           values ($1, $2, $3, $4, $5, $6)
           returning id, tenant_id, name, hint, scopes as "scopes: Vec<Scope>", created_at"#,
        KeyId::new().0,
        tenant.0,
        name,
        &hash(key.reveal()),
        key.hint(),
        scopes as &[Scope],
    )
    .fetch_one(db)
    .await
}

/// An API key that a client presented, with properties of its tenant.
#[derive(Clone, Debug)]
pub struct Presented {
    /// The identifier of the key.
    pub id: KeyId,
    /// The tenant of the key.
    pub tenant: TenantId,
    /// The name that the owner gave to the key.
    pub name: String,
    /// The scopes of the key.
    pub scopes: Vec<Scope>,
    /// Whether the tenant has a budget.
    pub has_budget: bool,
    /// Whether the tenant has submit limits.
    pub has_submit_limit: bool,
    /// Whether the tenant has uploaded skills.
    pub has_skills: bool,
}

/// Returns the API key with this secret unless it was revoked.
pub async fn get_by_secret(
    db: impl PgExecutor<'_>,
    secret: &str,
) -> sqlx::Result<Option<Presented>> {
    let hash = hash(secret);
    Ok(list_by_hash(db, &[hash]).await?.remove(&hash))
}

/// Returns the API keys with these hashes that were not revoked.
pub async fn list_by_hash(
    db: impl PgExecutor<'_>,
    hashes: &[KeyHash],
) -> sqlx::Result<HashMap<KeyHash, Presented>> {
    let hashes: Vec<_> = hashes.iter().map(|hash| hash.to_vec()).collect();
    let rows = sqlx::query!(
        r#"select
               hash as "hash!",
               id as "id!: KeyId",
               tenant_id as "tenant!: TenantId",
               name as "name!",
               scopes as "scopes!: Vec<Scope>",
               has_budget as "has_budget!",
               has_submit_limit as "has_submit_limit!",
               has_skills as "has_skills!"
           from presented_key
           where hash = any($1)"#,
        &hashes,
    )
    .fetch_all(db)
    .await?;
    let keys = rows.into_iter().filter_map(|row| {
        let key = Presented {
            id: row.id,
            tenant: row.tenant,
            name: row.name,
            scopes: row.scopes,
            has_budget: row.has_budget,
            has_submit_limit: row.has_submit_limit,
            has_skills: row.has_skills,
        };
        Some((row.hash.try_into().ok()?, key))
    });
    Ok(keys.collect())
}

/// Lists a page of the API keys that were not revoked, newest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: Option<TenantId>,
    before: Option<KeyId>,
    limit: i64,
) -> sqlx::Result<Vec<ApiKey>> {
    sqlx::query_as!(
        ApiKey,
        r#"select id, tenant_id, name, hint, scopes as "scopes: Vec<Scope>", created_at
           from api_key
           where revoked_at is null
             and ($1::uuid is null or tenant_id = $1)
             and ($2::uuid is null or id < $2)
           order by id desc
           limit $3"#,
        tenant.map(|id| id.0),
        before.map(|id| id.0),
        limit,
    )
    .fetch_all(db)
    .await
}

/// Revokes an API key. Returns `false` if it does not exist or was already revoked.
pub async fn revoke(db: impl PgExecutor<'_>, id: KeyId) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update api_key set revoked_at = now() where id = $1 and revoked_at is null",
        id.0
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Lists the API keys that were revoked, including those that were deleted since.
pub async fn list_revoked(db: impl PgExecutor<'_>, keys: &[KeyId]) -> sqlx::Result<Vec<KeyId>> {
    let ids: Vec<_> = keys.iter().map(|id| id.0).collect();
    let revoked = sqlx::query_scalar!(
        r#"select id as "id!"
           from unnest($1::uuid[]) as asked (id)
           where not exists (select from api_key where api_key.id = asked.id and revoked_at is null)"#,
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(revoked.into_iter().map(KeyId).collect())
}

/// Deletes API keys that were revoked before `cutoff`.
pub async fn delete_revoked(db: impl PgExecutor<'_>, cutoff: DateTime<Utc>) -> sqlx::Result<()> {
    sqlx::query!("delete from api_key where revoked_at < $1", cutoff)
        .execute(db)
        .await?;
    Ok(())
}
