//! Queries of the feed.
//!
//! A row is read only when it is settled: when neither its transaction nor an earlier one can still commit. Therefore
//! a part that was read once is complete, and a reader needs only its last position to continue.

mod horizon;
mod state;
mod tenant;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use sqlx::types::Json;
use uuid::Uuid;

pub use horizon::{HorizonHolder, get_horizon_lag, horizon};
pub use state::{FeedState, advance_floor, begin_epoch, get_state};
pub use tenant::{EnableError, clear_unused, enable, touch};

use crate::feed::{FeedEntry, FeedEvent, FeedPosition};
use crate::id::{ConversationId, JobId, TenantId};
use crate::job::Status;

/// Lists the settled milestones of a tenant's jobs after a position, in order. Excludes milestones of deleted jobs.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    after: FeedPosition,
    limit: i64,
) -> sqlx::Result<Vec<FeedEntry>> {
    let rows = sqlx::query_as!(
        FeedRow,
        r#"select
               feed.tenant_id, feed.txid, feed.job_id, feed.seq, feed.type as kind, feed.at,
               feed.status as "status: Status", true as "is_settled!", job.skill, job.agent, job.conversation_id,
               job.metadata as "metadata?: Json<Map<String, Value>>"
           from feed
           join job on job.id = feed.job_id
           where feed.tenant_id = $1 and (feed.txid, feed.job_id, feed.seq) > ($2, $3, $4)
             and feed.txid < (select feed_horizon())
           order by feed.txid, feed.job_id, feed.seq
           limit $5"#,
        tenant.0,
        after.txid,
        after.job.0,
        after.seq,
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().filter_map(FeedRow::entry).collect())
}

/// The next rows of the feed of all tenants.
pub struct FeedTail {
    /// The milestones of the requested tenants, in order.
    pub entries: Vec<(TenantId, FeedEntry)>,
    /// The last position that was read, or `None` if no row was read.
    pub position: Option<FeedPosition>,
    /// Whether more rows can be read now.
    pub has_more: bool,
    /// Whether some milestones are not settled yet.
    pub has_unsettled: bool,
}

/// Reads up to `limit` rows of all tenants after a position and returns the rows of `tenants`.
pub async fn follow(
    db: impl PgExecutor<'_>,
    after: FeedPosition,
    tenants: &[TenantId],
    limit: i64,
) -> sqlx::Result<FeedTail> {
    let tenants: Vec<_> = tenants.iter().map(|tenant| tenant.0).collect();
    let rows = sqlx::query_as!(
        FeedRow,
        r#"with tail as materialized (
               select tenant_id, txid, job_id, seq, type, at, status
               from feed
               where txid >= $1 and (txid, job_id, seq) > ($1, $2, $3)
               order by txid, job_id, seq
               limit $4
           )
           select
               tail.tenant_id, tail.txid, tail.job_id, tail.seq, tail.type as kind, tail.at,
               tail.status as "status: Status", tail.txid < horizon as "is_settled!", job.skill as "skill?",
               job.agent as "agent?", job.conversation_id as "conversation_id?",
               job.metadata as "metadata?: Json<Map<String, Value>>"
           from tail
           cross join (select feed_horizon() as horizon) as now
           left join job on job.id = tail.job_id and tail.tenant_id = any($5)
           order by tail.txid, tail.job_id, tail.seq"#,
        after.txid,
        after.job.0,
        after.seq,
        limit,
        &tenants,
    )
    .fetch_all(db)
    .await?;
    let settled = rows.iter().take_while(|row| row.is_settled).count();
    let has_unsettled = settled < rows.len();
    Ok(FeedTail {
        position: rows[..settled].last().map(FeedRow::position),
        has_more: !has_unsettled && rows.len() as i64 == limit,
        has_unsettled,
        entries: rows
            .into_iter()
            .take(settled)
            .filter_map(|row| Some((TenantId(row.tenant_id), row.entry()?)))
            .collect(),
    })
}

struct FeedRow {
    tenant_id: Uuid,
    txid: i64,
    job_id: Uuid,
    seq: i64,
    kind: String,
    at: DateTime<Utc>,
    status: Status,
    is_settled: bool,
    skill: Option<String>,
    agent: Option<String>,
    conversation_id: Option<Uuid>,
    /// `None` if the job was deleted or its tenant was not requested.
    metadata: Option<Json<Map<String, Value>>>,
}

impl FeedRow {
    fn position(&self) -> FeedPosition {
        FeedPosition {
            txid: self.txid,
            job: JobId(self.job_id),
            seq: self.seq,
        }
    }

    fn entry(self) -> Option<FeedEntry> {
        Some(FeedEntry {
            position: self.position(),
            event: FeedEvent {
                job_id: JobId(self.job_id),
                seq: self.seq,
                kind: self.kind,
                at: self.at,
                status: self.status,
                skill: self.skill,
                agent: self.agent,
                conversation_id: self.conversation_id.map(ConversationId),
                metadata: self.metadata?.0,
            },
        })
    }
}
