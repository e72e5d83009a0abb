//! The fan-out of milestones from the feed to deliveries. One transaction advances the cursor and inserts the
//! deliveries, so that each event has exactly one delivery for each webhook.

use sqlx::PgExecutor;
use uuid::Uuid;

use super::columns::{NewDeliveryColumns, NewDeliveryRow};
use super::lock_states;
use crate::db::{Connection, Pool};
use crate::feed::FeedPosition;
use crate::id::{DeliveryId, JobId};

/// The maximum number of milestones in one transaction.
const PAGE: i64 = 500;

/// Returns whether there are milestones after the cursor: settled ones, which can be read, and unsettled ones, which
/// wait for transactions that began before theirs.
pub async fn has_unread(db: impl PgExecutor<'_>) -> sqlx::Result<(bool, bool)> {
    let row = sqlx::query!(
        r#"with tail as materialized (
               select feed.txid from webhook_cursor
               cross join lateral (
                   select txid from feed
                   where feed.txid >= webhook_cursor.txid
                     and (feed.txid, feed.job_id, feed.seq) > (webhook_cursor.txid, webhook_cursor.job_id, webhook_cursor.seq)
                   order by feed.txid
                   limit 1
               ) as feed
           ),
           state as (
               select exists (
                   select from webhook_cursor join feed_state on feed_state.epoch <> webhook_cursor.epoch
               ) as is_new_epoch
           )
           select
               is_new_epoch or exists (select from tail where txid < feed_horizon()) as "is_settled!",
               exists (select from tail where txid >= feed_horizon()) as "is_unsettled!"
           from state"#,
    )
    .fetch_one(db)
    .await?;
    Ok((row.is_settled, row.is_unsettled))
}

/// Inserts the deliveries of the next milestones and returns their number, or `None` if another process is doing this.
pub async fn fan_out(db: &Pool) -> sqlx::Result<Option<usize>> {
    let mut transaction = db.begin().await?;
    let Some(cursor) = lock_cursor(&mut transaction).await? else {
        return Ok(None);
    };
    let after = cursor.position();
    let read = list_settled(&mut transaction, after).await?;
    let last = read.last().copied().unwrap_or(after);
    let deliveries = list_deliveries(&mut transaction, after, last).await?;
    insert(&mut transaction, &deliveries).await?;
    sqlx::query!(
        "update webhook_cursor set epoch = $1, txid = $2, job_id = $3, seq = $4",
        cursor.epoch,
        last.txid,
        last.job.0,
        last.seq,
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(Some(deliveries.id.len()))
}

struct CursorRow {
    is_valid: bool,
    /// The epoch of the feed.
    epoch: i32,
    txid: i64,
    job_id: Uuid,
    seq: i64,
}

impl CursorRow {
    /// Returns the position of the cursor. After a restore in another cluster, the feed starts again from the
    /// beginning.
    fn position(&self) -> FeedPosition {
        if self.is_valid {
            FeedPosition {
                txid: self.txid,
                job: JobId(self.job_id),
                seq: self.seq,
            }
        } else {
            FeedPosition::before(0)
        }
    }
}

async fn lock_cursor(db: &mut Connection) -> sqlx::Result<Option<CursorRow>> {
    sqlx::query_as!(
        CursorRow,
        r#"select webhook_cursor.epoch = feed_state.epoch as "is_valid!", feed_state.epoch, txid, job_id, seq
           from webhook_cursor
           cross join feed_state
           for update of webhook_cursor skip locked"#,
    )
    .fetch_optional(db)
    .await
}

/// Lists the positions of the next settled milestones.
async fn list_settled(db: &mut Connection, after: FeedPosition) -> sqlx::Result<Vec<FeedPosition>> {
    sqlx::query_as!(
        FeedPosition,
        r#"select txid, job_id as "job: JobId", seq
           from feed
           where txid >= $1 and (txid, job_id, seq) > ($1, $2, $3) and txid < (select feed_horizon())
           order by txid, job_id, seq
           limit $4"#,
        after.txid,
        after.job.0,
        after.seq,
        PAGE,
    )
    .fetch_all(db)
    .await
}

/// Returns the deliveries of the milestones after `after` up to and including `last`.
async fn list_deliveries(
    db: &mut Connection,
    after: FeedPosition,
    last: FeedPosition,
) -> sqlx::Result<NewDeliveryColumns> {
    let found = sqlx::query!(
        r#"with tail as materialized (
               select tenant_id, job_id, seq, type, at, status
               from feed
               where txid >= $1 and (txid, job_id, seq) > ($1, $2, $3) and (txid, job_id, seq) <= ($4, $5, $6)
           )
           select webhook.id as "webhook!", webhook.status = 'disabled' as "is_disabled!", null::text as url,
               tail.job_id as "job!", tail.seq as "seq!", tail.type as "kind!", tail.at as "at!",
               tail.status as "job_status!"
           from tail
           join job on job.id = tail.job_id
           join webhook on webhook.tenant_id = tail.tenant_id and not webhook.is_of_jobs
           where tail.type = any(webhook.events) and tail.at >= webhook.created_at
             and (
                 (cardinality(webhook.skills) = 0 and cardinality(webhook.agents) = 0)
                 or job.skill = any(webhook.skills) or job.agent = any(webhook.agents)
             )
           union all
           select job_webhook.webhook_id, false, job_webhook.url, tail.job_id, tail.seq, tail.type, tail.at, tail.status
           from tail
           join job_webhook on job_webhook.job_id = tail.job_id
           where tail.type = any(job_webhook.events)"#,
        after.txid,
        after.job.0,
        after.seq,
        last.txid,
        last.job.0,
        last.seq,
    )
    .fetch_all(db)
    .await?;
    let mut deliveries = NewDeliveryColumns::default();
    for row in found {
        deliveries.push(NewDeliveryRow {
            id: DeliveryId::new().0,
            webhook: row.webhook,
            url: row.url,
            job: row.job,
            seq: row.seq,
            kind: row.kind,
            at: row.at,
            job_status: row.job_status,
            is_disabled: row.is_disabled,
        });
    }
    Ok(deliveries)
}

/// Inserts deliveries. Those of disabled webhooks are dead from the start and can be recovered.
async fn insert(db: &mut Connection, new: &NewDeliveryColumns) -> sqlx::Result<()> {
    if new.id.is_empty() {
        return Ok(());
    }
    lock_states(&mut *db, &new.webhook).await?;
    sqlx::query!(
        "insert into webhook_delivery (id, webhook_id, url, job_id, seq, type, at, job_status, state, last_at, last_ms, last_error)
         select id, webhook_id, url, job_id, seq, type, at, job_status,
             case when is_disabled then 'dead' else 'pending' end,
             case when is_disabled then now() end,
             case when is_disabled then 0 end,
             case when is_disabled then 'the webhook is disabled' end
         from unnest(
             $1::uuid[], $2::uuid[], $3::text[], $4::uuid[], $5::bigint[], $6::text[], $7::timestamptz[], $8::text[], $9::bool[]
         ) as t (id, webhook_id, url, job_id, seq, type, at, job_status, is_disabled)
         on conflict do nothing",
        &new.id,
        &new.webhook,
        &new.url as &[Option<String>],
        &new.job,
        &new.seq,
        &new.kind,
        &new.at,
        &new.job_status,
        &new.is_disabled,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "update webhook_state set next_at = now() where webhook_id = any($1)",
        &new.webhook
    )
    .execute(db)
    .await?;
    Ok(())
}
