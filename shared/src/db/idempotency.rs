//! Idempotency keys: which jobs a request made the first time.

use sqlx::PgExecutor;

use crate::id::{JobId, TenantId};

/// What a key was used for.
pub struct Used {
    /// SHA-256 of the request that it came with.
    pub digest: Vec<u8>,
    /// The jobs that the request made, in their order. Of a batch, some may have been removed.
    pub jobs: Vec<JobId>,
}

/// What the tenant used the key for, if it did.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    key: &str,
) -> sqlx::Result<Option<Used>> {
    sqlx::query_as!(
        Used,
        r#"select digest, coalesce(job_ids, array[job_id]) as "jobs!: Vec<JobId>"
           from idempotency_key
           where tenant_id = $1 and key = $2"#,
        tenant.0,
        key,
    )
    .fetch_optional(db)
    .await
}

/// Ties the key to the jobs, of which there is at least one, and returns `None`, or returns what it was used for. Of two at once the
/// second waits for the first.
///
/// One statement: a key that is removed meanwhile is either still there or tied to these jobs.
pub async fn remember(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    key: &str,
    digest: &[u8],
    jobs: &[JobId],
) -> sqlx::Result<Option<Used>> {
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
    Ok((!row.is_new).then_some(Used { digest, jobs }))
}

/// Forgets up to `limit` keys that are a day old; returns how many.
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
