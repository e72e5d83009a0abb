//! Sessions of browsers, which hold a cookie in place of a key.

use sqlx::PgExecutor;

use super::Connection;
use super::key::Presented;
use crate::id::{KeyId, TenantId};
use crate::key::{Scope, hash};

/// Stores a session of the key, and removes up to 100 that are over.
pub async fn insert(db: &mut Connection, key: KeyId, cookie: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from session where hash in (
             select hash from session
             where used_at < now() - interval '12 hours' or created_at < now() - interval '7 days'
             limit 100
         )"
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "insert into session (hash, key_id) values ($1, $2)",
        &hash(cookie),
        key.0
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The key of the session with that cookie: used within 12 hours, begun within 7 days, and its key not revoked.
pub async fn get_key(db: impl PgExecutor<'_>, cookie: &str) -> sqlx::Result<Option<Presented>> {
    sqlx::query_as!(
        Presented,
        r#"with session as (
               select hash, key_id, used_at from session
               where hash = $1
                 and used_at > now() - interval '12 hours'
                 and created_at > now() - interval '7 days'
           ),
           used as (
               update session as stored set used_at = now()
               from session
               where stored.hash = session.hash and session.used_at < now() - interval '1 minute'
           )
           select
               id as "id: KeyId",
               tenant_id as "tenant: TenantId",
               name,
               scopes as "scopes: Vec<Scope>",
               exists (
                   select from tenant_budget as budget
                   where budget.tenant_id = api_key.tenant_id
                     and (budget.max_total_tokens is not null or budget.max_cost is not null)
               ) as "has_budget!",
               exists (
                   select from submit_limit as own
                   where own.tenant_id = api_key.tenant_id and (own.max_queued is not null or own.per_minute is not null)
               ) as "has_submit_limit!",
               exists (select from skill where skill.tenant_id = api_key.tenant_id) as "has_skills!"
           from api_key
           join session on session.key_id = api_key.id
           where revoked_at is null"#,
        &hash(cookie),
    )
    .fetch_optional(db)
    .await
}

/// Ends a session.
pub async fn delete(db: impl PgExecutor<'_>, cookie: &str) -> sqlx::Result<()> {
    sqlx::query!("delete from session where hash = $1", &hash(cookie))
        .execute(db)
        .await?;
    Ok(())
}
