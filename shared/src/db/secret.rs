//! Encrypted secrets of tenants.

use sqlx::PgExecutor;

use crate::id::TenantId;
use crate::secret::{SealedValue, Secret, SecretName};

/// An encrypted secret of a tenant.
pub struct SealedSecret {
    /// The tenant.
    pub tenant: TenantId,
    /// The name.
    pub name: SecretName,
    /// The encrypted value.
    pub sealed: SealedValue,
}

/// Stores a secret. Replaces an existing secret with the same name.
pub async fn put(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    name: &SecretName,
    sealed: &SealedValue,
) -> sqlx::Result<()> {
    sqlx::query!(
        "insert into secret (tenant_id, name, ciphertext, nonce, key_id)
         values ($1, $2, $3, $4, $5)
         on conflict (tenant_id, name) do update set
             ciphertext = excluded.ciphertext,
             nonce = excluded.nonce,
             key_id = excluded.key_id,
             updated_at = now()",
        tenant.0,
        name.as_str(),
        sealed.ciphertext,
        sealed.nonce,
        sealed.key_id,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Deletes a secret. Returns `false` if it does not exist.
pub async fn delete(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    name: &SecretName,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "delete from secret where tenant_id = $1 and name = $2",
        tenant.0,
        name.as_str(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Lists a page of a tenant's secrets by name.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    after: Option<&str>,
    limit: i64,
) -> sqlx::Result<Vec<Secret>> {
    sqlx::query_as!(
        Secret,
        r#"select name as "name: SecretName", created_at, updated_at
           from secret
           where tenant_id = $1 and ($2::text is null or name > $2)
           order by name
           limit $3"#,
        tenant.0,
        after,
        limit,
    )
    .fetch_all(db)
    .await
}

/// Lists the names for which the tenant has no secret.
pub async fn list_missing(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    names: &[SecretName],
) -> sqlx::Result<Vec<SecretName>> {
    sqlx::query_scalar!(
        r#"select asked.name as "name!: SecretName"
           from unnest($2::text[]) with ordinality as asked (name, place)
           where not exists (
               select from secret where secret.tenant_id = $1 and secret.name = asked.name
           )
           order by asked.place"#,
        tenant.0,
        names as &[SecretName],
    )
    .fetch_all(db)
    .await
}

/// Lists the tenant's encrypted secrets with one of the names.
pub async fn list_sealed(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    names: &[SecretName],
) -> sqlx::Result<Vec<SealedSecret>> {
    let rows = sqlx::query!(
        r#"select name as "name: SecretName", ciphertext, nonce, key_id
           from secret
           where tenant_id = $1 and name = any($2)
           order by name"#,
        tenant.0,
        names as &[SecretName],
    )
    .fetch_all(db)
    .await?;
    let sealed = rows.into_iter().map(|row| SealedSecret {
        tenant,
        name: row.name,
        sealed: SealedValue {
            ciphertext: row.ciphertext,
            nonce: row.nonce,
            key_id: row.key_id,
        },
    });
    Ok(sealed.collect())
}

/// Lists secrets of all tenants that are not encrypted with this key, ordered by tenant and name, after a position.
pub async fn list_not_under(
    db: impl PgExecutor<'_>,
    key_id: &str,
    after: Option<(TenantId, SecretName)>,
    limit: i64,
) -> sqlx::Result<Vec<SealedSecret>> {
    let (tenant, name) = after.unzip();
    let rows = sqlx::query!(
        r#"select tenant_id, name as "name: SecretName", ciphertext, nonce, key_id
           from secret
           where key_id <> $1 and ($2::uuid is null or (tenant_id, name) > ($2, $3))
           order by tenant_id, name
           limit $4"#,
        key_id,
        tenant.map(|id| id.0),
        name.as_ref().map(SecretName::as_str),
        limit,
    )
    .fetch_all(db)
    .await?;
    let sealed = rows.into_iter().map(|row| SealedSecret {
        tenant: TenantId(row.tenant_id),
        name: row.name,
        sealed: SealedValue {
            ciphertext: row.ciphertext,
            nonce: row.nonce,
            key_id: row.key_id,
        },
    });
    Ok(sealed.collect())
}

/// Stores the same value encrypted with another key. Returns `false` if the secret was changed or deleted since.
pub async fn reseal(
    db: impl PgExecutor<'_>,
    before: &SealedSecret,
    sealed: &SealedValue,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update secret set ciphertext = $4, nonce = $5, key_id = $6
         where tenant_id = $1 and name = $2 and nonce = $3",
        before.tenant.0,
        before.name.as_str(),
        before.sealed.nonce,
        sealed.ciphertext,
        sealed.nonce,
        sealed.key_id,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}
