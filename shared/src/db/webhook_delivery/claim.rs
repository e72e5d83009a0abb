//! Claims of due deliveries. Each webhook has at most a few attempts at a time, so that an unresponsive receiver does
//! not delay other webhooks.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use sqlx::types::Json;
use uuid::Uuid;

use crate::feed::FeedEvent;
use crate::id::{ConversationId, DeliveryId, JobId, TenantId, WebhookId};
use crate::job::Status;

/// The maximum number of concurrent attempts of a webhook, over all workers.
const MAX_IN_FLIGHT: i64 = 5;
/// The number of consecutive failures after which a webhook has only one attempt at a time.
const SINGLE_ATTEMPT_AFTER: i32 = 5;
/// The maximum number of webhooks that one claim considers.
const MAX_WEBHOOKS: i64 = 64;
/// The seconds after which another worker may repeat an attempt. An attempt has a shorter timeout.
pub const LEASE_SECONDS: i32 = 30;

/// A due delivery that the caller must attempt.
#[derive(Debug)]
pub struct ClaimedDelivery {
    /// The delivery.
    pub id: DeliveryId,
    /// The id of this attempt.
    pub claim: Uuid,
    /// The webhook.
    pub webhook: WebhookId,
    /// The tenant.
    pub tenant: TenantId,
    /// Whether it is the webhook of a job, whose deliveries are signed with the tenant's default secret.
    pub is_of_jobs: bool,
    /// The URL that receives the delivery.
    pub url: String,
    /// The event, or `None` for a test.
    pub event: Option<FeedEvent>,
    /// The time at which the event or the test was recorded.
    pub at: DateTime<Utc>,
    /// Whether to include the job.
    pub include_job: bool,
    /// The number of attempts that have ended.
    pub attempts: i16,
}

/// Claims up to `limit` due deliveries.
pub async fn claim(db: impl PgExecutor<'_>, limit: i64) -> sqlx::Result<Vec<ClaimedDelivery>> {
    let claim = Uuid::from_u128(rand::random());
    let rows = sqlx::query_as!(
        ClaimedRow,
        r#"with due as materialized (
               select
                   state.webhook_id, webhook.status = 'active' as is_active,
                   (case when state.failures >= $4 then 1 else $5::bigint end) - (
                       select count(*) from webhook_delivery as other
                       where other.webhook_id = state.webhook_id and other.state = 'pending' and other.claim is not null
                         and other.due_at > now()
                   ) as capacity
               from webhook_state as state
               join webhook on webhook.id = state.webhook_id
               where state.next_at <= now()
               order by state.next_at
               limit $6
               for update of state skip locked
           ),
           offered as materialized (
               select due.webhook_id, delivery.id, delivery.due_at
               from due
               cross join lateral (
                   select id, due_at from webhook_delivery
                   where webhook_id = due.webhook_id and state = 'pending' and due_at <= now()
                     and (due.is_active or job_id is null)
                   order by due_at
                   limit greatest(due.capacity, 0)
               ) as delivery
           ),
           picked as materialized (
               select webhook_id, id from offered order by due_at limit $2
           ),
           claimed as (
               update webhook_delivery as delivery set claim = $1, due_at = now() + $3::int * interval '1 second'
               from picked
               where delivery.id = picked.id
                 -- Another process may have claimed it since this statement began. `coalesce` keeps the planner from
                 -- reading the index of all that is pending, of which there was little when it made its plan.
                 and coalesce(delivery.state, '') = 'pending' and delivery.due_at <= now()
               returning delivery.*
           ),
           -- When to look again: now if there was no room, else when the next delivery or the end of a claim is due.
           looked as (
               select
                   due.webhook_id,
                   case
                       when exists (
                           select from offered
                           where offered.webhook_id = due.webhook_id and offered.id not in (select id from picked)
                       ) then now()
                       else least(
                           (
                               select min(later.due_at) from webhook_delivery as later
                               where later.webhook_id = due.webhook_id and later.state = 'pending' and later.due_at > now()
                                 and (due.is_active or later.job_id is null)
                           ),
                           case when exists (select from picked where picked.webhook_id = due.webhook_id)
                               then now() + $3::int * interval '1 second' end
                       )
                   end as next_at
               from due
           ),
           moved as (
               update webhook_state as state set next_at = looked.next_at
               from looked
               where state.webhook_id = looked.webhook_id
           )
           select claimed.id, claimed.webhook_id, webhook.tenant_id, webhook.is_of_jobs,
               coalesce(claimed.url, webhook.url) as "url!", claimed.job_id, claimed.seq, claimed.type as kind, claimed.at,
               claimed.job_status as "job_status: Status", job.skill as "skill?", job.agent as "agent?",
               job.conversation_id as "conversation_id?", job.metadata as "metadata?: Json<Map<String, Value>>",
               webhook.include_job, claimed.attempts
           from claimed
           join webhook on webhook.id = claimed.webhook_id
           left join job on job.id = claimed.job_id"#,
        claim,
        limit,
        LEASE_SECONDS,
        SINGLE_ATTEMPT_AFTER,
        MAX_IN_FLIGHT,
        MAX_WEBHOOKS,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| row.of(claim)).collect())
}

/// Returns the seconds until the next delivery may be due, or `None` if no delivery waits.
pub async fn next_due(db: impl PgExecutor<'_>) -> sqlx::Result<Option<f64>> {
    let row = sqlx::query_scalar!(
        r#"select extract(epoch from next_at - clock_timestamp())::double precision as "seconds!"
           from webhook_state where next_at is not null order by next_at limit 1"#,
    )
    .fetch_optional(db)
    .await?;
    Ok(row)
}

struct ClaimedRow {
    id: Uuid,
    webhook_id: Uuid,
    tenant_id: Uuid,
    is_of_jobs: bool,
    url: String,
    job_id: Option<Uuid>,
    seq: Option<i64>,
    kind: String,
    at: DateTime<Utc>,
    job_status: Option<Status>,
    skill: Option<String>,
    agent: Option<String>,
    conversation_id: Option<Uuid>,
    metadata: Option<Json<Map<String, Value>>>,
    include_job: bool,
    attempts: i16,
}

impl ClaimedRow {
    fn of(self, claim: Uuid) -> ClaimedDelivery {
        let (job, seq) = (self.job_id, self.seq);
        let event = job.zip(seq).zip(self.job_status);
        let event = event.map(|((job, seq), status)| FeedEvent {
            job_id: JobId(job),
            seq,
            kind: self.kind,
            at: self.at,
            status,
            skill: self.skill,
            agent: self.agent,
            conversation_id: self.conversation_id.map(ConversationId),
            metadata: self.metadata.map(|metadata| metadata.0).unwrap_or_default(),
        });
        ClaimedDelivery {
            id: DeliveryId(self.id),
            claim,
            webhook: WebhookId(self.webhook_id),
            tenant: TenantId(self.tenant_id),
            is_of_jobs: self.is_of_jobs,
            url: self.url,
            event,
            at: self.at,
            include_job: self.include_job,
            attempts: self.attempts,
        }
    }
}
