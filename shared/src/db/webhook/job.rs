//! Webhooks of individual jobs. Job webhooks of a tenant with the same origin share one row and its limits.

use uuid::Uuid;

use crate::db::{Connection, Pool};
use crate::id::{JobId, TenantId, WebhookId};
use crate::webhook::JobWebhook;

/// A job's webhook and the origin of its URL.
pub struct OriginOfJobs<'a> {
    /// The job.
    pub job: JobId,
    /// The origin.
    pub origin: String,
    /// The webhook.
    pub webhook: &'a JobWebhook,
}

/// Stores the webhooks of jobs that the same transaction inserts.
pub async fn insert_of_jobs(
    db: &mut Connection,
    tenant: TenantId,
    webhooks: &[OriginOfJobs<'_>],
) -> sqlx::Result<()> {
    for OriginOfJobs {
        job,
        origin,
        webhook,
    } in webhooks
    {
        let id = get_or_insert(&mut *db, tenant, origin).await?;
        sqlx::query!(
            "insert into job_webhook (job_id, webhook_id, url, events) values ($1, $2, $3, $4)",
            job.0,
            id,
            webhook.url,
            &webhook.events,
        )
        .execute(&mut *db)
        .await?;
    }
    Ok(())
}

/// Returns the row of an origin and locks it against deletion.
async fn get_or_insert(db: &mut Connection, tenant: TenantId, origin: &str) -> sqlx::Result<Uuid> {
    let found = sqlx::query_scalar!(
        "select id from webhook where tenant_id = $1 and url = $2 and is_of_jobs for key share",
        tenant.0,
        origin,
    )
    .fetch_optional(&mut *db)
    .await?;
    if let Some(id) = found {
        return Ok(id);
    }
    sqlx::query_scalar!(
        r#"with new as (
               insert into webhook (id, tenant_id, url, is_of_jobs, events) values ($1, $2, $3, true, '{}')
               on conflict (tenant_id, url) where is_of_jobs do update set updated_at = now()
               returning id
           ),
           state as (
               insert into webhook_state (webhook_id) select id from new on conflict do nothing
           )
           select id from new"#,
        WebhookId::new().0,
        tenant.0,
        origin,
    )
    .fetch_one(db)
    .await
}

/// Deletes the rows of origins that no job uses.
pub async fn delete_unused_origins(db: &Pool) -> sqlx::Result<()> {
    let mut transaction = db.begin().await?;
    let unused = sqlx::query_scalar!(
        "select id from webhook
         where is_of_jobs and updated_at < now() - interval '1 day'
           and not exists (select from job_webhook where job_webhook.webhook_id = webhook.id)
         order by id
         for update skip locked",
    )
    .fetch_all(&mut *transaction)
    .await?;
    // A second statement sees the jobs that were accepted before the locks.
    sqlx::query!(
        "delete from webhook
         where id = any($1)
           and not exists (select from job_webhook where job_webhook.webhook_id = webhook.id)",
        &unused,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await
}
