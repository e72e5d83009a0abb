//! Idempotency keys: which job a request made the first time.

use sqlx::{PgConnection, PgExecutor};

use crate::id::{JobId, TenantId};

/// What became of a key.
pub enum Remembered {
    /// Nobody used it before; it stands for the new job once the transaction is committed.
    New,
    /// The same request was answered with this job.
    Same(JobId),
    /// It came with another request.
    Other,
}

/// Ties the key to the job, unless it is taken. Of two at once the second waits for the first.
pub async fn remember(
    db: &mut PgConnection,
    tenant: TenantId,
    key: &str,
    digest: &[u8],
    job: JobId,
) -> sqlx::Result<Remembered> {
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
        return Ok(Remembered::New);
    }
    let row = sqlx::query!(
        "select digest, job_id from idempotency_key where tenant_id = $1 and key = $2",
        tenant.0,
        key,
    )
    .fetch_one(&mut *db)
    .await?;
    let same = row.digest == digest;
    Ok(if same {
        Remembered::Same(JobId(row.job_id))
    } else {
        Remembered::Other
    })
}

/// Forgets keys after a day.
pub async fn delete_old(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query!("delete from idempotency_key where created_at < now() - interval '24 hours'")
        .execute(db)
        .await?;
    Ok(())
}
