//! The results of delivery attempts.

use std::time::Duration;

use sqlx::PgExecutor;
use uuid::Uuid;

use super::columns::{AttemptColumns, AttemptRow};
use crate::id::{DeliveryId, WebhookId};

/// The outcome of an attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver accepted the event.
    Delivered,
    /// The attempt failed. Another attempt follows after this delay.
    Retry(Duration),
    /// The attempt failed, and no other attempt follows.
    Dead,
}

/// An attempt that has ended.
#[derive(Debug)]
pub struct EndedAttempt {
    /// The delivery.
    pub delivery: DeliveryId,
    /// The id of the attempt.
    pub claim: Uuid,
    /// The webhook.
    pub webhook: WebhookId,
    /// Whether the delivery is a test, which does not affect the status of the webhook.
    pub is_test: bool,
    /// The outcome.
    pub outcome: DeliveryOutcome,
    /// The HTTP status of the response.
    pub status: Option<u16>,
    /// The duration.
    pub took: Duration,
    /// The error, if the attempt failed.
    pub error: Option<String>,
    /// The beginning of the response.
    pub response: Option<String>,
}

/// Stores the results of attempts whose claims are still valid. Returns the webhooks whose attempts all failed for the
/// last five days.
pub async fn finish(
    db: impl PgExecutor<'_>,
    ended: impl Iterator<Item = &EndedAttempt>,
) -> sqlx::Result<Vec<WebhookId>> {
    let mut columns = AttemptColumns::default();
    for attempt in ended {
        columns.push(row(attempt));
    }
    let failing = sqlx::query_scalar!(
        r#"with ended as materialized (
               select * from unnest(
                   $1::uuid[], $2::uuid[], $3::uuid[], $4::bool[], $5::text[], $6::double precision[], $7::smallint[],
                   $8::int[], $9::text[], $10::text[]
               ) as t (id, claim, webhook_id, is_test, state, pause, status, ms, error, response)
           ),
           -- In the order in which all do that lock several, and before their deliveries.
           locked as materialized (
               select webhook_id from webhook_state where webhook_id = any($3) order by webhook_id for update
           ),
           stored as (
               update webhook_delivery as delivery set
                   state = ended.state, claim = null, attempts = delivery.attempts + 1,
                   due_at = now() + ended.pause * interval '1 second', last_at = now(), last_status = ended.status,
                   last_ms = ended.ms, last_error = ended.error, last_response = ended.response
               from locked
               join ended on ended.webhook_id = locked.webhook_id
               -- So that the planner finds it by its id, not among all that is pending or claimed.
               where delivery.id = ended.id and delivery.claim is not distinct from ended.claim
                 and coalesce(delivery.state, '') = 'pending'
           ),
           results as (
               select webhook_id,
                   bool_or(state = 'delivered' and not is_test) as is_accepted,
                   count(*) filter (where state <> 'delivered' and not is_test) as failed
               from ended
               group by webhook_id
           )
           update webhook_state as state set
               failures = case
                   when is_accepted then 0
                   else least(state.failures + failed, 1000000)
               end,
               failing_since = case
                   when is_accepted then null
                   when failed > 0 then coalesce(state.failing_since, now())
                   else state.failing_since
               end,
               last_success_at = case when is_accepted then now() else state.last_success_at end,
               next_at = now()
           from locked
           join results on results.webhook_id = locked.webhook_id
           where state.webhook_id = locked.webhook_id
           returning case
               when failing_since < now() - interval '5 days' and failed > 0 then state.webhook_id
           end as "failing: WebhookId""#,
        &columns.id,
        &columns.claim,
        &columns.webhook,
        &columns.is_test,
        &columns.state as &[&str],
        &columns.pause,
        &columns.status as &[Option<i16>],
        &columns.ms,
        &columns.error as &[Option<String>],
        &columns.response as &[Option<String>],
    )
    .fetch_all(db)
    .await?;
    Ok(failing.into_iter().flatten().collect())
}

fn row(attempt: &EndedAttempt) -> AttemptRow {
    let (state, pause) = match attempt.outcome {
        DeliveryOutcome::Delivered => ("delivered", Duration::ZERO),
        DeliveryOutcome::Retry(pause) => ("pending", pause),
        DeliveryOutcome::Dead => ("dead", Duration::ZERO),
    };
    AttemptRow {
        id: attempt.delivery.0,
        claim: attempt.claim,
        webhook: attempt.webhook.0,
        is_test: attempt.is_test,
        state,
        pause: pause.as_secs_f64(),
        status: attempt.status.and_then(|status| i16::try_from(status).ok()),
        ms: i32::try_from(attempt.took.as_millis()).unwrap_or(i32::MAX),
        error: attempt.error.clone(),
        response: attempt.response.clone(),
    }
}
