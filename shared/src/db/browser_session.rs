//! Browser sessions, which use a cookie instead of an API key.

use std::time::Duration;

use sqlx::PgExecutor;

use super::Connection;
use super::key::Presented;
use crate::id::{KeyId, TenantId};
use crate::key::{Scope, hash};

/// The maximum lifetime of a session.
pub const LIFETIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// The lifetime of a one-time code.
pub const CODE_LIFETIME: Duration = Duration::from_secs(60);

/// Stores a session of an API key and deletes up to 100 expired sessions.
pub async fn insert(db: &mut Connection, key: KeyId, cookie: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from session where hash in (
             select hash from session
             where used_at < now() - interval '12 hours' or created_at < now() - make_interval(secs => $1)
             limit 100
         )",
        LIFETIME.as_secs_f64(),
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

/// Returns the API key of the session with this cookie. The session must have been used within 12 hours and created
/// within 7 days, and the key must not be revoked.
pub async fn get_key(db: impl PgExecutor<'_>, cookie: &str) -> sqlx::Result<Option<Presented>> {
    sqlx::query_as!(
        Presented,
        r#"with session as (
               select hash, key_id, used_at from session
               where hash = $1
                 and used_at > now() - interval '12 hours'
                 and created_at > now() - make_interval(secs => $2)
           ),
           used as (
               update session as stored set used_at = now()
               from session
               where stored.hash = session.hash and session.used_at < now() - interval '1 minute'
           )
           select
               presented_key.id as "id!: KeyId",
               tenant_id as "tenant!: TenantId",
               name as "name!",
               scopes as "scopes!: Vec<Scope>",
               has_budget as "has_budget!",
               has_submit_limit as "has_submit_limit!",
               has_skills as "has_skills!"
           from presented_key
           join session on session.key_id = presented_key.id"#,
        &hash(cookie),
        LIFETIME.as_secs_f64(),
    )
    .fetch_optional(db)
    .await
}

/// Deletes a session.
pub async fn delete(db: impl PgExecutor<'_>, cookie: &str) -> sqlx::Result<()> {
    sqlx::query!("delete from session where hash = $1", &hash(cookie))
        .execute(db)
        .await?;
    Ok(())
}

/// Stores a one-time code that a browser exchanges for a session of the key.
pub async fn insert_code(db: &mut Connection, key: KeyId, code: &str) -> sqlx::Result<()> {
    insert(db, key, &code_secret(code)).await
}

/// Deletes a one-time code and returns its API key, if the code has not expired.
pub async fn take_code(db: impl PgExecutor<'_>, code: &str) -> sqlx::Result<Option<KeyId>> {
    sqlx::query_scalar!(
        r#"with taken as (delete from session where hash = $1 returning key_id, created_at)
           select presented_key.id as "id!: KeyId"
           from presented_key
           join taken on taken.key_id = presented_key.id
           where taken.created_at > now() - make_interval(secs => $2)"#,
        &hash(&code_secret(code)),
        CODE_LIFETIME.as_secs_f64(),
    )
    .fetch_optional(db)
    .await
}

/// Returns the secret that is stored for a code. It contains a line break, which a cookie cannot, so that a code does
/// not work as a session cookie.
fn code_secret(code: &str) -> String {
    format!("code\n{code}")
}
