//! Encrypted secrets that sign webhook deliveries.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use super::Connection;
use crate::id::{TenantId, WebhookId};
use crate::secret::SealedValue;

/// The maximum number of secrets of a webhook that sign at the same time. If there are more, the oldest is deleted
/// early.
const MAX_SIGNING: i64 = 5;

/// An encrypted secret.
pub struct SealedWebhookSecret {
    /// The id of the row. The ciphertext is bound to it.
    pub id: Uuid,
    /// The tenant.
    pub tenant: TenantId,
    /// The webhook, or `None` for the secret of the webhooks of the tenant's jobs.
    pub webhook: Option<WebhookId>,
    /// The encrypted secret.
    pub sealed: SealedValue,
}

/// Stores a current secret unless there is one. Returns whether it was stored.
pub async fn insert(db: impl PgExecutor<'_>, secret: &SealedWebhookSecret) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "insert into webhook_secret (id, tenant_id, webhook_id, ciphertext, nonce, key_id)
         values ($1, $2, $3, $4, $5, $6)
         on conflict do nothing",
        secret.id,
        secret.tenant.0,
        secret.webhook.map(|id| id.0),
        secret.sealed.ciphertext,
        secret.sealed.nonce,
        secret.sealed.key_id,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Replaces the current secret, which continues to sign for 24 hours. Returns the time at which it expires.
pub async fn rotate(
    db: &mut Connection,
    secret: &SealedWebhookSecret,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    // Of two rotations, the second must see the secret of the first.
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('webhook secret of ' || $1::text, 0))",
        secret
            .webhook
            .map_or(secret.tenant.0, |id| id.0)
            .to_string(),
    )
    .execute(&mut *db)
    .await?;
    let mut expires_at = expire_current(&mut *db, secret).await?;
    if !insert(&mut *db, secret).await? {
        // The first secret was created in the meantime.
        expires_at = expire_current(&mut *db, secret).await?;
        insert(&mut *db, secret).await?;
    }
    sqlx::query!(
        "delete from webhook_secret
         where id in (
             select id from webhook_secret
             where tenant_id = $1 and webhook_id is not distinct from $2
             order by created_at desc, id desc
             offset $3
         )",
        secret.tenant.0,
        secret.webhook.map(|id| id.0),
        MAX_SIGNING,
    )
    .execute(db)
    .await?;
    Ok(expires_at)
}

/// Sets the time at which the current secret expires, if there is one, and returns it.
async fn expire_current(
    db: &mut Connection,
    secret: &SealedWebhookSecret,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    sqlx::query_scalar!(
        r#"update webhook_secret set expires_at = now() + interval '24 hours'
           where tenant_id = $1 and webhook_id is not distinct from $2 and expires_at is null
           returning expires_at as "expires_at!""#,
        secret.tenant.0,
        secret.webhook.map(|id| id.0),
    )
    .fetch_optional(db)
    .await
}

/// Selects encrypted secrets. `$rest` is the rest of the statement.
macro_rules! select_secrets {
    ($rest:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            SealedRow,
            "select id, tenant_id, webhook_id, ciphertext, nonce, key_id from webhook_secret " + $rest,
            $($argument),*
        )
    };
}

/// Returns the current secret of the webhooks of a tenant's jobs.
pub async fn get_default(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
) -> sqlx::Result<Option<SealedWebhookSecret>> {
    let row = select_secrets!(
        "where tenant_id = $1 and webhook_id is null and expires_at is null",
        tenant.0
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(SealedWebhookSecret::from))
}

/// Returns when the previous secret of the webhooks of a tenant's jobs stops signing, if there is one.
pub async fn get_previous_expiry(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
) -> sqlx::Result<Option<DateTime<Utc>>> {
    sqlx::query_scalar!(
        "select max(expires_at) from webhook_secret
         where tenant_id = $1 and webhook_id is null and expires_at > now()",
        tenant.0,
    )
    .fetch_one(db)
    .await
}

/// Lists the secrets that sign now, newest first: those of the webhooks, and those of the jobs of the tenants.
pub async fn list_signing(
    db: impl PgExecutor<'_>,
    webhooks: &[Uuid],
    tenants: &[Uuid],
) -> sqlx::Result<Vec<SealedWebhookSecret>> {
    let rows = sqlx::query_as!(
        SealedRow,
        r#"with signing as (
               select * from webhook_secret where webhook_id = any($1)
               union all
               select * from webhook_secret where tenant_id = any($2) and webhook_id is null
           )
           select id as "id!", tenant_id as "tenant_id!", webhook_id, ciphertext as "ciphertext!", nonce as "nonce!",
               key_id as "key_id!"
           from signing
           where expires_at is null or expires_at > now()
           order by expires_at desc nulls first, id desc"#,
        webhooks,
        tenants,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(SealedWebhookSecret::from).collect())
}

/// Lists secrets of all tenants that are not encrypted with this key, by id, after `after`.
pub async fn list_not_under(
    db: impl PgExecutor<'_>,
    key_id: &str,
    after: Option<Uuid>,
    limit: i64,
) -> sqlx::Result<Vec<SealedWebhookSecret>> {
    let rows = select_secrets!(
        "where key_id <> $1 and ($2::uuid is null or id > $2) order by id limit $3",
        key_id,
        after,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(SealedWebhookSecret::from).collect())
}

/// Stores the same secret encrypted with another key. Returns `false` if it was deleted.
pub async fn reseal(
    db: impl PgExecutor<'_>,
    before: &SealedWebhookSecret,
    sealed: &SealedValue,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update webhook_secret set ciphertext = $3, nonce = $4, key_id = $5 where id = $1 and nonce = $2",
        before.id,
        before.sealed.nonce,
        sealed.ciphertext,
        sealed.nonce,
        sealed.key_id,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Deletes the expired secrets.
pub async fn delete_expired(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query!("delete from webhook_secret where expires_at < now()")
        .execute(db)
        .await?;
    Ok(())
}

struct SealedRow {
    id: Uuid,
    tenant_id: Uuid,
    webhook_id: Option<Uuid>,
    ciphertext: Vec<u8>,
    nonce: Vec<u8>,
    key_id: String,
}

impl From<SealedRow> for SealedWebhookSecret {
    fn from(row: SealedRow) -> Self {
        Self {
            id: row.id,
            tenant: TenantId(row.tenant_id),
            webhook: row.webhook_id.map(WebhookId),
            sealed: SealedValue {
                ciphertext: row.ciphertext,
                nonce: row.nonce,
                key_id: row.key_id,
            },
        }
    }
}
