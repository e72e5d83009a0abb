//! Idempotency keys and the jobs of their first request.

use sqlx::PgExecutor;

use crate::id::{JobId, TenantId};

/// The first use of an idempotency key.
pub struct UsedKey {
    /// The SHA-256 of the request.
    pub digest: Vec<u8>,
    /// The jobs that the request created, in order. Some jobs of a batch may have been deleted.
    pub jobs: Vec<JobId>,
}

/// Returns the first use of the tenant's key, if any.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    key: &str,
) -> sqlx::Result<Option<UsedKey>> {
    sqlx::query_as!(
        UsedKey,
        r#"select digest, coalesce(job_ids, array[job_id]) as "jobs!: Vec<JobId>"
           from idempotency_key
           where tenant_id = $1 and key = $2"#,
        tenant.0,
        key,
    )
    .fetch_optional(db)
    .await
}

/// Stores the key for at least one job and returns `None`, or returns the first use of the key. Of two concurrent
/// calls, the second waits for the first.
///
/// This is one statement: a key that is deleted concurrently either still exists or is stored for these jobs.
pub async fn remember(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    key: &str,
    digest: &[u8],
    jobs: &[JobId],
) -> sqlx::Result<Option<UsedKey>> {
    let jobs: Vec<_> = jobs.iter().map(|job| job.0).collect();
    let row = sqlx::query!(
        r#"insert into idempotency_key (tenant_id, key, digest, job_id, job_ids)
           values ($1, $2, $3, $4, case when cardinality($5::uuid[]) > 1 then $5 end)
           on conflict (tenant_id, key) do update set key = excluded.key
           returning digest, job_id = $4 as "is_new!", coalesce(job_ids, array[job_id]) as "jobs!: Vec<JobId>""#,
        tenant.0,
        key,
        digest,
        jobs[0],
        &jobs,
    )
    .fetch_one(db)
    .await?;
    let (digest, jobs) = (row.digest, row.jobs);
    Ok((!row.is_new).then_some(UsedKey { digest, jobs }))
}

/// Deletes up to `limit` keys that are more than 24 hours old and returns their number.
pub async fn delete_old(db: impl PgExecutor<'_>, limit: i64) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "delete from idempotency_key
         where (tenant_id, key) in (
             select tenant_id, key from idempotency_key
             where created_at < now() - interval '24 hours'
             order by created_at
             limit $1
         )",
        limit,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
