//! Deliveries of events to webhooks.

mod attempt;
mod claim;
mod columns;
mod fan_out;

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;
use uuid::Uuid;

use super::{Connection, WEBHOOK_CHANNEL};
use crate::id::{DeliveryId, JobId, TenantId, WebhookId};
use crate::webhook::{self, Delivery, DeliveryAttempt, DeliveryStatus, TEST_EVENT};

pub use attempt::{DeliveryOutcome, EndedAttempt, finish};
pub use claim::{ClaimedDelivery, LEASE_SECONDS, claim, next_due};
pub use fan_out::{fan_out, has_unread};

/// The number of deliveries that one call of `recover` restarts.
const RECOVER_AT_ONCE: i64 = 1000;

/// The owner of deliveries.
#[derive(Clone, Copy, Debug)]
pub enum DeliveryOwner {
    /// A webhook of the tenant.
    Webhook(WebhookId),
    /// A job with its own webhook.
    Job(JobId),
}

impl DeliveryOwner {
    fn ids(self) -> (Option<Uuid>, Option<Uuid>) {
        match self {
            Self::Webhook(id) => (Some(id.0), None),
            Self::Job(id) => (None, Some(id.0)),
        }
    }
}

/// Lists the deliveries of an owner before `before`, newest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    owner: DeliveryOwner,
    status: Option<DeliveryStatus>,
    before: Option<DeliveryId>,
    limit: i64,
) -> sqlx::Result<Vec<Delivery>> {
    let (webhook, job) = owner.ids();
    let rows = sqlx::query_as!(
        DeliveryRow,
        r#"with shown as (
               select
                   webhook_delivery.*, webhook.is_of_jobs,
                   case when state = 'pending' and attempts > 0 then 'failed' else state end as status
               from webhook_delivery
               join webhook on webhook.id = webhook_delivery.webhook_id
               where webhook.tenant_id = $1
                 and ($2::uuid is null or webhook_id = $2)
                 and ($3::uuid is null or (job_id = $3 and webhook.is_of_jobs))
           )
           select id, webhook_id, is_of_jobs, job_id, seq, type as kind, status as "status!: DeliveryStatus", attempts, due_at, last_at, last_status,
               last_ms, last_error, last_response, created_at
           from shown
           where ($4::text is null or status = $4) and ($5::uuid is null or id < $5)
           order by id desc
           limit $6"#,
        tenant.0,
        webhook,
        job,
        status as Option<DeliveryStatus>,
        before.map(|id| id.0),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Delivery::from).collect())
}

/// Returns one of the deliveries of an owner.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    owner: DeliveryOwner,
    id: DeliveryId,
) -> sqlx::Result<Option<Delivery>> {
    let (webhook, job) = owner.ids();
    let row = sqlx::query_as!(
        DeliveryRow,
        r#"select webhook_delivery.id, webhook_id, is_of_jobs, job_id, seq, type as kind,
               case when state = 'pending' and attempts > 0 then 'failed' else state end as "status!: DeliveryStatus",
               attempts, due_at, last_at, last_status, last_ms, last_error, last_response, webhook_delivery.created_at
           from webhook_delivery
           join webhook on webhook.id = webhook_delivery.webhook_id
           where webhook_delivery.id = $1 and webhook.tenant_id = $2
             and ($3::uuid is null or webhook_id = $3)
             and ($4::uuid is null or (job_id = $4 and webhook.is_of_jobs))"#,
        id.0,
        tenant.0,
        webhook,
        job,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(Delivery::from))
}

/// Stores a test delivery of a webhook that the caller has locked. The delivery is due now.
pub async fn insert_test(db: &mut Connection, webhook: WebhookId) -> sqlx::Result<DeliveryId> {
    let id = DeliveryId::new();
    sqlx::query!(
        "insert into webhook_delivery (id, webhook_id, type) values ($1, $2, $3)",
        id.0,
        webhook.0,
        TEST_EVENT,
    )
    .execute(&mut *db)
    .await?;
    set_due(db, webhook.0).await?;
    Ok(id)
}

/// Restarts a delivery in any state from its first attempt. Returns `false` if it does not exist.
pub async fn redeliver(db: &mut Connection, id: DeliveryId) -> sqlx::Result<bool> {
    let webhook = sqlx::query_scalar!(
        r#"select state.webhook_id
           from webhook_delivery
           join webhook_state as state on state.webhook_id = webhook_delivery.webhook_id
           where webhook_delivery.id = $1
           for update of state"#,
        id.0,
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(webhook) = webhook else {
        return Ok(false);
    };
    sqlx::query!(
        "update webhook_delivery set state = 'pending', attempts = 0, due_at = now(), claim = null where id = $1",
        id.0,
    )
    .execute(&mut *db)
    .await?;
    set_due(db, webhook).await?;
    Ok(true)
}

/// Restarts a page of the failed deliveries of a webhook that were recorded since `since`, after `after`.
pub async fn recover(
    db: &mut Connection,
    webhook: WebhookId,
    since: DateTime<Utc>,
    after: Option<DeliveryId>,
) -> sqlx::Result<Vec<DeliveryId>> {
    lock_states(&mut *db, &[webhook.0]).await?;
    let recovered = sqlx::query_scalar!(
        r#"update webhook_delivery set state = 'pending', attempts = 0, due_at = now(), claim = null
           where id in (
               select id from webhook_delivery
               where webhook_id = $1 and created_at >= $2 and job_id is not null and ($3::uuid is null or id > $3)
                 and (state = 'dead' or (state = 'pending' and attempts > 0))
               order by id
               limit $4
           )
           returning id as "id: DeliveryId""#,
        webhook.0,
        since,
        after.map(|id| id.0),
        RECOVER_AT_ONCE,
    )
    .fetch_all(&mut *db)
    .await?;
    set_due(db, webhook.0).await?;
    Ok(recovered)
}

/// Makes the dispatchers check the deliveries of a webhook now. The caller has locked the state of the webhook.
async fn set_due(db: &mut Connection, webhook: Uuid) -> sqlx::Result<()> {
    sqlx::query!(
        "update webhook_state set next_at = now() where webhook_id = $1",
        webhook
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Locks the states of webhooks, in the same order everywhere, to avoid deadlocks.
async fn lock_states(db: impl PgExecutor<'_>, webhooks: &[Uuid]) -> sqlx::Result<()> {
    sqlx::query!(
        "select webhook_id from webhook_state where webhook_id = any($1) order by webhook_id for update",
        webhooks,
    )
    .fetch_all(db)
    .await?;
    Ok(())
}

/// Notifies the dispatchers.
pub async fn notify(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query!("select pg_notify($1, '')", WEBHOOK_CHANNEL)
        .execute(db)
        .await?;
    Ok(())
}

/// Deletes up to `limit` test deliveries that are more than a week old and returns their number.
pub async fn delete_old_tests(db: impl PgExecutor<'_>, limit: i64) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "delete from webhook_delivery
         where id in (
             select id from webhook_delivery
             where job_id is null and created_at < now() - interval '7 days'
             order by created_at
             limit $1
         )",
        limit,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

struct DeliveryRow {
    id: Uuid,
    webhook_id: Uuid,
    is_of_jobs: bool,
    job_id: Option<Uuid>,
    seq: Option<i64>,
    kind: String,
    status: DeliveryStatus,
    attempts: i16,
    due_at: DateTime<Utc>,
    last_at: Option<DateTime<Utc>>,
    last_status: Option<i16>,
    last_ms: Option<i32>,
    last_error: Option<String>,
    last_response: Option<String>,
    created_at: DateTime<Utc>,
}

impl From<DeliveryRow> for Delivery {
    fn from(row: DeliveryRow) -> Self {
        let id = DeliveryId(row.id);
        let waits = matches!(row.status, DeliveryStatus::Pending | DeliveryStatus::Failed);
        let last = row.last_at.map(|at| DeliveryAttempt {
            at,
            status: row.last_status,
            ms: row.last_ms.unwrap_or_default(),
            error: row.last_error,
            response: row.last_response,
        });
        Self {
            id,
            webhook_id: (!row.is_of_jobs).then_some(WebhookId(row.webhook_id)),
            event_id: match row.job_id.zip(row.seq) {
                Some((job, seq)) => webhook::event_id(JobId(job), seq),
                None => webhook::test_id(id),
            },
            job_id: row.job_id.map(JobId),
            seq: row.seq,
            kind: row.kind,
            status: row.status,
            attempts: row.attempts,
            next_at: waits.then_some(row.due_at),
            last,
            created_at: row.created_at,
        }
    }
}
