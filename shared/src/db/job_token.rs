//! Short-lived tokens for read access to one job and its files.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::Connection;
use super::key::Presented;
use crate::id::{AssetId, JobId, KeyId, TenantId};
use crate::key::{Scope, hash};

/// Stores a token of an API key for a job and deletes up to 100 expired tokens. Returns the expiry of the new token.
pub async fn insert(
    db: &mut Connection,
    key: KeyId,
    job: JobId,
    token: &str,
    seconds: i32,
) -> sqlx::Result<DateTime<Utc>> {
    sqlx::query!(
        "delete from job_token where hash in (select hash from job_token where expires_at < now() limit 100)"
    )
    .execute(&mut *db)
    .await?;
    sqlx::query_scalar!(
        "insert into job_token (hash, key_id, job_id, expires_at)
         values ($1, $2, $3, now() + $4 * interval '1 second')
         returning expires_at",
        &hash(token),
        key.0,
        job.0,
        f64::from(seconds),
    )
    .fetch_one(db)
    .await
}

/// A token that a client presented.
pub struct PresentedJobToken {
    /// The API key that created the token.
    pub key: Presented,
    /// The job that the token can read.
    pub job: JobId,
}

/// Returns the token unless it has expired or its API key was revoked.
pub async fn get(db: impl PgExecutor<'_>, token: &str) -> sqlx::Result<Option<PresentedJobToken>> {
    let row = sqlx::query!(
        r#"select
               api_key.id as "id: KeyId",
               api_key.tenant_id as "tenant: TenantId",
               api_key.name,
               job_token.job_id as "job: JobId"
           from job_token
           join api_key on api_key.id = job_token.key_id
           where job_token.hash = $1 and job_token.expires_at > now() and api_key.revoked_at is null"#,
        &hash(token),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| PresentedJobToken {
        // Only the submission of jobs uses these fields, and a token cannot submit jobs.
        key: Presented {
            id: row.id,
            tenant: row.tenant,
            name: row.name,
            scopes: vec![Scope::Jobs],
            has_budget: false,
            has_submit_limit: false,
            has_skills: false,
        },
        job: row.job,
    }))
}

/// Whether the asset is an output or an inline input of the job.
pub async fn is_asset_of(
    db: impl PgExecutor<'_>,
    job: JobId,
    asset: AssetId,
) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from asset where id = $1 and job_id = $2 and visible) as "exists!""#,
        asset.0,
        job.0,
    )
    .fetch_one(db)
    .await
}
