//! Webhooks: their settings and their status.

mod job;

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::Connection;
use crate::id::{TenantId, WebhookId};
use crate::webhook::{DisabledReason, WebhookStatus};

pub use job::{OriginOfJobs, delete_unused_origins, insert_of_jobs};

/// The maximum number of webhooks of a tenant. Each webhook costs one delivery per event.
pub const MAX_WEBHOOKS: i64 = 20;

/// The settings of a webhook.
#[derive(Clone, Debug)]
pub struct WebhookSettings {
    /// The URL that receives the events.
    pub url: String,
    /// The description.
    pub description: String,
    /// The event types.
    pub events: Vec<String>,
    /// Only jobs of one of these skills or agents. If both lists are empty, all jobs.
    pub skills: Vec<String>,
    /// See `skills`.
    pub agents: Vec<String>,
    /// Whether the events include the job.
    pub include_job: bool,
}

/// A stored webhook.
#[derive(Clone, Debug)]
pub struct StoredWebhook {
    /// The id of the webhook.
    pub id: WebhookId,
    /// The settings.
    pub settings: WebhookSettings,
    /// The status.
    pub status: WebhookStatus,
    /// The reason why the service disabled the webhook.
    pub disabled_reason: Option<DisabledReason>,
    /// The time at which the service disabled the webhook.
    pub disabled_at: Option<DateTime<Utc>>,
    /// The time of the first failed attempt since the last success.
    pub failing_since: Option<DateTime<Utc>>,
    /// The time of the last attempt that the receiver accepted.
    pub last_success_at: Option<DateTime<Utc>>,
    /// The creation time.
    pub created_at: DateTime<Utc>,
    /// The time of the last change of the settings or the status.
    pub updated_at: DateTime<Utc>,
}

/// Stores a new webhook. Returns `None` if the tenant has reached the maximum number of webhooks.
pub async fn insert(
    db: &mut Connection,
    tenant: TenantId,
    settings: &WebhookSettings,
) -> sqlx::Result<Option<StoredWebhook>> {
    // Of two concurrent calls, the second counts the webhook of the first.
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('webhooks of ' || $1::uuid::text, 0))",
        tenant.0,
    )
    .execute(&mut *db)
    .await?;
    let id = WebhookId::new();
    let inserted = sqlx::query_scalar!(
        r#"with new as (
               insert into webhook (id, tenant_id, url, description, events, skills, agents, include_job)
               select $1, $2, $3, $4, $5, $6, $7, $8
               where (select count(*) from webhook where tenant_id = $2 and not is_of_jobs) < $9
               returning id
           )
           insert into webhook_state (webhook_id) select id from new returning webhook_id"#,
        id.0,
        tenant.0,
        settings.url,
        settings.description,
        &settings.events,
        &settings.skills,
        &settings.agents,
        settings.include_job,
        MAX_WEBHOOKS,
    )
    .fetch_optional(&mut *db)
    .await?;
    if inserted.is_none() {
        return Ok(None);
    }
    get(db, tenant, id).await
}

/// Selects stored webhooks of tenants. `$rest` is the rest of the statement.
macro_rules! select_webhooks {
    ($rest:literal, $($argument:expr),* $(,)?) => {
        sqlx::query_as!(
            WebhookRow,
            r#"select id, url, description, events, skills, agents, include_job, status as "status: WebhookStatus",
                   disabled_reason as "disabled_reason: DisabledReason", disabled_at, failing_since, last_success_at,
                   created_at, updated_at
               from webhook
               join webhook_state on webhook_id = id
               where not is_of_jobs and "# + $rest,
            $($argument),*
        )
    };
}

/// Returns one of the tenant's webhooks.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: WebhookId,
) -> sqlx::Result<Option<StoredWebhook>> {
    let row = select_webhooks!("tenant_id = $1 and id = $2", tenant.0, id.0)
        .fetch_optional(db)
        .await?;
    Ok(row.map(StoredWebhook::from))
}

/// Returns one of the tenant's webhooks and locks it until the end of the transaction.
pub async fn lock(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: WebhookId,
) -> sqlx::Result<Option<StoredWebhook>> {
    let row = select_webhooks!(
        "tenant_id = $1 and id = $2 for update of webhook_state, webhook",
        tenant.0,
        id.0
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(StoredWebhook::from))
}

/// Lists the tenant's webhooks before `before`, newest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    before: Option<WebhookId>,
    limit: i64,
) -> sqlx::Result<Vec<StoredWebhook>> {
    let rows = select_webhooks!(
        "tenant_id = $1 and ($2::uuid is null or id < $2) order by id desc limit $3",
        tenant.0,
        before.map(|id| id.0),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(StoredWebhook::from).collect())
}

/// Replaces the settings of a webhook that the caller has locked.
pub async fn update(
    db: impl PgExecutor<'_>,
    id: WebhookId,
    settings: &WebhookSettings,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhook set
             url = $2, description = $3, events = $4, skills = $5, agents = $6, include_job = $7, updated_at = now()
         where id = $1",
        id.0,
        settings.url,
        settings.description,
        &settings.events,
        &settings.skills,
        &settings.agents,
        settings.include_job,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Pauses a webhook that the caller has locked.
pub async fn pause(db: impl PgExecutor<'_>, id: WebhookId) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhook set status = 'paused', disabled_reason = null, disabled_at = null, updated_at = now() where id = $1",
        id.0,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Activates a webhook that the caller has locked, including its waiting deliveries. Resets its failures.
pub async fn activate(db: &mut Connection, id: WebhookId) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhook set status = 'active', disabled_reason = null, disabled_at = null, updated_at = now() where id = $1",
        id.0,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "update webhook_state set failures = 0, failing_since = null, next_at = now() where webhook_id = $1",
        id.0,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Disables an active webhook and marks its waiting deliveries as dead. Returns whether the webhook was active.
pub async fn disable(
    db: &mut Connection,
    id: WebhookId,
    reason: DisabledReason,
) -> sqlx::Result<bool> {
    sqlx::query!(
        "select from webhook_state where webhook_id = $1 for update",
        id.0
    )
    .execute(&mut *db)
    .await?;
    let disabled = sqlx::query!(
        "update webhook set status = 'disabled', disabled_reason = $2, disabled_at = now(), updated_at = now()
         where id = $1 and status = 'active' and not is_of_jobs",
        id.0,
        reason as DisabledReason,
    )
    .execute(&mut *db)
    .await?;
    if disabled.rows_affected() == 0 {
        return Ok(false);
    }
    sqlx::query!(
        "update webhook_delivery set
             state = 'dead', claim = null, last_error = coalesce(last_error, 'the webhook was disabled'),
             last_at = coalesce(last_at, now()), last_ms = coalesce(last_ms, 0)
         where webhook_id = $1 and state = 'pending' and job_id is not null",
        id.0,
    )
    .execute(db)
    .await?;
    Ok(true)
}

/// Deletes one of the tenant's webhooks with its deliveries and secrets. Returns `false` if it does not exist.
pub async fn delete(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: WebhookId,
) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "delete from webhook where tenant_id = $1 and id = $2 and not is_of_jobs",
        tenant.0,
        id.0,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

struct WebhookRow {
    id: uuid::Uuid,
    url: String,
    description: String,
    events: Vec<String>,
    skills: Vec<String>,
    agents: Vec<String>,
    include_job: bool,
    status: WebhookStatus,
    disabled_reason: Option<DisabledReason>,
    disabled_at: Option<DateTime<Utc>>,
    failing_since: Option<DateTime<Utc>>,
    last_success_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
}

impl From<WebhookRow> for StoredWebhook {
    fn from(row: WebhookRow) -> Self {
        Self {
            id: WebhookId(row.id),
            settings: WebhookSettings {
                url: row.url,
                description: row.description,
                events: row.events,
                skills: row.skills,
                agents: row.agents,
                include_job: row.include_job,
            },
            status: row.status,
            disabled_reason: row.disabled_reason,
            disabled_at: row.disabled_at,
            failing_since: row.failing_since,
            last_success_at: row.last_success_at,
            created_at: row.created_at,
            updated_at: row.updated_at,
        }
    }
}
