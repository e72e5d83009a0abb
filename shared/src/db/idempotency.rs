//! Idempotency keys: which job a request made the first time.

use sqlx::{PgConnection, PgExecutor};

use crate::id::{JobId, TenantId};

/// What a key was used for.
pub struct Used {
    /// SHA-256 of the request that it came with.
    pub digest: Vec<u8>,
    /// The job that the request made.
    pub job: JobId,
}

/// What the tenant used the key for, if it did.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    key: &str,
) -> sqlx::Result<Option<Used>> {
    sqlx::query_as!(
        Used,
        "select digest, job_id as job from idempotency_key where tenant_id = $1 and key = $2",
        tenant.0,
        key,
    )
    .fetch_optional(db)
    .await
}

/// Ties the key to the job and returns `None`, or returns what it was used for. Of two at once the
/// second waits for the first.
pub async fn remember(
    db: &mut PgConnection,
    tenant: TenantId,
    key: &str,
    digest: &[u8],
    job: JobId,
) -> sqlx::Result<Option<Used>> {
    let inserted = sqlx::query!(
        "insert into idempotency_key (tenant_id, key, digest, job_id)
         values ($1, $2, $3, $4)
         on conflict do nothing",
        tenant.0,
        key,
        digest,
        job.0,
    )
    .execute(&mut *db)
    .await?;
    if inserted.rows_affected() > 0 {
        return Ok(None);
    }
    get(db, tenant, key).await
}

/// Forgets the keys of a job that is removed: sent again, its request makes a new one.
pub async fn delete_of_job(db: impl PgExecutor<'_>, job: JobId) -> sqlx::Result<()> {
    sqlx::query!("delete from idempotency_key where job_id = $1", job.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Forgets keys after a day.
pub async fn delete_old(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query!("delete from idempotency_key where created_at < now() - interval '24 hours'")
        .execute(db)
        .await?;
    Ok(())
}
